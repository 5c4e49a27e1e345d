"""Answers as compact text, for a terminal and for a model alike.

Line 1 has the subject, the total and the revision; then one line for each place, file and line
first, under its layer. Under 10 KB and 256 lines unless asked for all: what is left out is
counted where it would stand. Names come from the tree, so control characters are escaped.
The tests are `tests/test_text.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Final, NamedTuple

from torchtalkd.frontends.counted import counted
from torchtalkd.frontends.exact_text import exact_lines
from torchtalkd.frontends.standing_text import external_text, root_lines, standing_words, unread_lines
from torchtalkd.queries.answers import (
    ROLES,
    Answer,
    Item,
    StatusAnswer,
    Subject,
    packet_and_overload,
)
from torchtalkd.queries.nearest import alike_words

MOST_BYTES: Final = 9_900
"""Clients of the agents' protocol cut at 10 KB."""
MOST_LINES: Final = 240
"""… and at 256 lines, with some for what a front end adds."""
LONGEST_LINE: Final = 260
"""Characters; a schema or a formula can be longer than anyone reads in a list."""
_WIDTH: Final = 120
"""Characters of a line of running text."""

_TITLES: Final = {
    "python": "Python",
    "registry": "registered",
    "docs": "documentation",
    "yaml": "schema",
    "entry": "dispatch table",
    "structured_meta": "structured meta function",
    "native": "kernels",
    "stub_kernel": "kernels behind a dispatch stub",
    "gpu_kernel": "device kernels and launches",
    "registration": "registrations by hand",
    "autocast": "autocast",
    "batching_rule": "batching rules (vmap)",
    "derivative": "derivative",
    "autograd_function": "autograd functions",
    "decomposition": "decompositions",
    "meta": "meta functions in Python",
    "ref": "Python references",
    "lowering": "inductor lowerings",
    "shape": "shape functions",
    "jit": "TorchScript",
    "onnx": "ONNX",
    "test": "tests",
    "external": "external references",
}
_LEADING: Final = frozenset(
    _TITLES[role] for role in ("yaml", "structured_meta", "native", "stub_kernel")
) | {"definitions", "found"}
"""Layers that are cut last: what most people ask for."""
_ENDS: Final = "ends in "
"""Begins the title of the kernels of an operator that a composite calls."""


@dataclass(frozen=True, slots=True)
class _Row:
    """One line, and further lines that belong to it."""

    text: str
    more: tuple[str, ...] = ()


def as_text(answer: Answer | StatusAnswer, *, whole: bool = False, most_bytes: int = MOST_BYTES) -> str:
    """The answer as text, without a final newline. `whole` lifts the limits."""
    if isinstance(answer, StatusAnswer):
        return _status(answer)
    if answer.error:
        return printable(f"{answer.error}")
    if not answer.found:
        return _not_found(answer)
    groups = _groups(answer)
    text = _joined(answer, groups, _ALL)
    if whole or _fits(text, most_bytes):
        return text
    for caps in _CAPS:
        text = _joined(answer, groups, caps)
        if _fits(text, most_bytes):
            return text
    while groups and not _fits(text, most_bytes):
        # A few rows a layer are too much only when the layers are many; the last ones go.
        groups = groups[:-1]
        text = _joined(answer, groups, _CAPS[-1])
    return text


def not_settled(waiting: int) -> str:
    """What is said where somebody waited for the tree to come to rest, and it did not."""
    files = "1 file is" if waiting == 1 else f"{waiting} files are"
    return f"the tree does not settle: after 2 s {files} still waiting to be read"


class _Caps(NamedTuple):
    """How many lines a layer may have."""

    leading: int
    """Schema and kernels of the subject itself."""
    own: int
    """Its other layers."""
    further: int
    """What the operators have that a composite ends in."""


_ALL: Final = _Caps(100_000, 100_000, 100_000)
_CAPS: Final = (
    _Caps(100, 60, 12),
    _Caps(60, 40, 8),
    _Caps(50, 24, 5),
    _Caps(40, 16, 4),
    _Caps(30, 12, 3),
    _Caps(24, 8, 2),
    _Caps(16, 5, 2),
    _Caps(10, 3, 1),
    _Caps(5, 2, 1),
)
"""Tried in turn until the text fits: what most people ask for is cut last."""


def _fits(text: str, most_bytes: int) -> bool:
    return len(text.encode()) <= most_bytes and text.count("\n") < MOST_LINES


def _joined(answer: Answer, groups: Sequence[tuple[str, Sequence[_Row]]], caps: _Caps) -> str:
    lines = [_head(answer), *unread_lines(answer.standing), *root_lines(answer), *_meanings(answer)]
    cut = False
    for title, rows in groups:
        limit = caps.leading if title in _LEADING else caps.further if title.startswith(_ENDS) else caps.own
        shown = rows if len(rows) <= limit else rows[:limit]
        lines.append(f"{title}:")
        for row in shown:
            lines.append(f"  {row.text}")
            lines.extend(f"      {line}" for line in row.more)
        if len(shown) < len(rows):
            cut = True
            lines.append(
                f"  … {len(rows) - len(shown)} more {'line' if len(rows) - len(shown) == 1 else 'lines'}"
            )
    lines.append(_more(answer, cut))
    return "\n".join(printable(line)[:LONGEST_LINE] for line in lines if line)


# -- line 1, other meanings, last line


def _head(answer: Answer) -> str:
    if answer.question == "search":
        shown = (
            f"{answer.shown} of {answer.total} shown"
            if answer.shown < answer.total
            else f"{answer.total} found"
        )
        return " · ".join(
            (f"search {_asked(answer)}, {answer.focus}", shown, *standing_words(answer.standing))
        )
    subject = next((s for s in answer.subjects if s.answered), answer.subjects[0])
    elsewhere = f", in {subject.root}" if subject.root else ""
    places = f"{answer.total} {'place' if answer.total == 1 else 'places'}"
    named = f"{subject.name}, {_kind(subject)}{elsewhere}"
    return " · ".join((named, f"{places}{_certainty(answer)}", *standing_words(answer.standing)))


def _certainty(answer: Answer) -> str:
    """How many places are one of several that a name may mean."""
    count = sum(item.evidence == "candidate" for item in answer.items)
    words = f"{count} of them {'a candidate' if count == 1 else 'candidates'}" if count else "certain"
    return f", {words}" if answer.items else ""


def _kind(subject: Subject) -> str:
    said = subject.kind
    if subject.kind == "operator" and len(subject.overloads) > 1:
        overloads = [packet_and_overload(name)[1] for name in subject.overloads]
        listed = ", ".join(overloads[:8]) + (", …" if len(overloads) > 8 else "")
        said = f"operator with {len(overloads)} overloads ({listed})"
    return f"{said}, {subject.note}" if subject.note else said


def _meanings(answer: Answer) -> Iterable[str]:
    if answer.question != "trace":
        return
    first = next((s for s in answer.subjects if s.answered), None)
    also = [s for s in answer.subjects if s.answered and s is not first]
    if also:
        yield (
            "and "
            + "; ".join(f"{s.name}, {s.kind}" + (f", {s.note}" if s.note else "") for s in also[:8])
            + (f"; {len(also) - 8} more" if len(also) > 8 else "")
        )
    others = [s for s in answer.subjects if not s.answered]
    if others:
        yield "not shown, of the same name: " + "; ".join(
            s.name if s.kind == "operator" else s.note if s.kind == "more names" else f"{s.note} of {s.kind}"
            for s in others[:10]
        )


def _more(answer: Answer, cut: bool) -> str:
    if answer.question == "search":
        left = answer.total - answer.shown
        return f"{left} more: --limit {answer.total}" if left else ""
    operator = next((s.name for s in answer.subjects if s.answered and s.kind == "operator"), "")
    ways = []
    if cut:
        ways.append("all places: --json")
    if operator and answer.focus != "dispatch":
        ways.append(f"kernels by dispatch key: trace {operator} dispatch")
    if operator and answer.focus != "yaml":
        ways.append(f"schema and formula: trace {operator} yaml")
    if operator and answer.focus != "full":
        ways.append(f"every layer: trace {operator}")
    return "More: " + "; ".join(ways) if ways else ""


def _asked(answer: Answer) -> str:
    """What was asked, in quotes, no longer than a name of a program is."""
    query = answer.query
    return repr(query if len(query) <= LONGEST_LINE else query[:LONGEST_LINE] + "…")


def _not_found(answer: Answer) -> str:
    if answer.question == "search":
        head = f"Nothing found: no name in {answer.focus} contains {_asked(answer)}"
    else:
        where = "these trees" if answer.others else "this tree"
        head = f"Function not found: nothing in {where} is called {_asked(answer)}"
    lines = [
        " · ".join((head, *standing_words(answer.standing))),
        *unread_lines(answer.standing),
        *root_lines(answer),
    ]
    if answer.nearest:
        alike = alike_words(answer.query, answer.nearest).capitalize()
        lines.append(f"{alike}: {', '.join(answer.nearest)}")
    return "\n".join(printable(line) for line in lines)


# -- the places, by layer


def _groups(answer: Answer) -> list[tuple[str, list[_Row]]]:
    """The layers of an answer, titled, with their lines. Places that differ in dispatch key or
    overload alone are one line; so are the bindings of one Python name, and the launches in
    one function."""
    families = [frozenset(s.overloads) for s in answer.subjects if s.answered and s.kind == "operator"]
    layers: dict[tuple[str, str], dict[tuple[str, ...], list[Item]]] = {}
    for item in answer.items:
        role = "native" if item.role == "structured_impl" else item.role
        layer = ("found", "") if answer.question == "search" else (role, item.through)
        layers.setdefault(layer, {}).setdefault(_alike(item), []).append(item)
    order = {role: number for number, role in enumerate(ROLES)}
    ways = {through: number for number, (_, through) in enumerate(layers)}
    ranked = sorted(
        layers.items(), key=lambda pair: (ways[pair[0][1]] if pair[0][1] else -1, order.get(pair[0][0], 99))
    )
    return [
        (_title(*layer, bool(families)), [_row(items, families) for items in places.values()])
        for layer, places in ranked
    ]


def _title(role: str, through: str, of_operator: bool) -> str:
    if role == "native" and not of_operator:
        return "definitions"
    if not through:
        return _TITLES.get(role, role)
    ways = through.split(" > ")
    return f"{_ENDS}{ways[-1]}, called by {ways[-2]}" if len(ways) > 1 else f"{_ENDS}{through}"


def _alike(item: Item) -> tuple[str, ...]:
    """What items must share to be one line."""
    file = f"{item.root}/{item.file}"
    if item.role == "test" or (item.role == "python" and item.note == "binding"):
        return file, item.symbol
    if item.block_line and item.symbol in item.operators:
        return file, str(item.line), item.dispatch_key
    if item.kind == "launch":
        return file, item.symbol, item.note
    return file, str(item.line), item.symbol, item.note if item.role in ("yaml", "entry") else ""


def _row(items: Sequence[Item], families: Sequence[frozenset[str]]) -> _Row:
    item = items[0]
    parts = [f"{_path(item.root, item.file)}:{item.line}", item.symbol]
    lines = list(dict.fromkeys(i.line for i in items))
    if len(lines) > 1:
        listed = ", ".join(map(str, lines[1:9])) + (", …" if len(lines) > 9 else "")
        parts.append(f"and {'line' if len(lines) == 2 else 'lines'} {listed}")
    dispatch_keys = list(dict.fromkeys(i.dispatch_key for i in items if i.dispatch_key))
    if dispatch_keys:
        parts.append(f"[{', '.join(dispatch_keys)}]")
    overloads = _overloads(items, families) if len(lines) == 1 else ""
    if overloads:
        parts.append(f"for {overloads}")
    if item.declares:
        parts.append("declaration")
    if item.via:
        parts.append(f"via {item.via}")
    if item.block_line:
        parts.append(f"block :{item.block_line}")
    if item.role == "external" and item.declared_line:
        meant = f"{item.operator} " if item.operator else ""
        parts.append(f"is {meant}{_path(item.declared_root, item.declared_file)}:{item.declared_line}")
    if item.role == "stub_kernel" and item.declared_line:
        parts.append(f"registered {_short_place(item)}")
    if all(i.evidence == "candidate" for i in items):
        parts.append("(candidate)")
    entry = item.role == "yaml" and item.kind != "registration"
    more: list[str] = []
    if item.note and item.role == "derivative":
        formulas = (part.partition(": ") for part in item.note.split("; "))
        more.extend(f"{of}: {quoted(formula)}" if colon else quoted(of) for of, colon, formula in formulas)
    elif item.note and not entry:
        parts.append(f"({item.note})")
    if entry:
        parts[1:2] = [" ".join(item.signature.split()) or item.symbol]
        if item.note:
            more.append(quoted(item.note))
    if item.guard:
        parts.append(f"#if {quoted(item.guard[:60])}")
    return _Row("  ".join(parts), tuple(more))


def _path(root: str, file: str) -> str:
    """A file of the asked tree from its root; one of another tree with that tree's folder."""
    return f"{root}/{file}" if root else file


def _short_place(item: Item) -> str:
    if item.declared_file == item.file:
        return f":{item.declared_line}"
    return f"{item.declared_file.rpartition('/')[2]}:{item.declared_line}"


def _overloads(items: Sequence[Item], families: Sequence[frozenset[str]]) -> str:
    """The overloads that a line is about, '' where it is about the whole subject."""
    names = dict.fromkeys(name for item in items for name in item.operators)
    if not names or items[0].role == "yaml":
        return ""
    if any(frozenset(names) >= family for family in families):
        return ""
    of_subject = any(name in family for name in names for family in families)
    packets = {packet_and_overload(name)[0] for name in names}
    if len(packets) == 1 and of_subject:
        return ", ".join(packet_and_overload(name)[1] for name in names)
    return ", ".join(names)


# -- status


def _status(answer: StatusAnswer) -> str:
    version = f" {answer.version}" if answer.version else ""
    head = f"{answer.root} · {answer.harness}{version} · {counted(answer.files, 'file')}"
    lines = [" · ".join((head, *standing_words(answer.standing)))]
    if answer.counts:
        sorts = [f"{count} {kind.replace('_', ' ')}" for kind, count in answer.counts.items()]
        lines.extend(wrap("definitions: " + ", ".join(sorts), _WIDTH, subsequent_indent="  "))
    for taken in answer.external:
        lines.extend(wrap(external_text(taken), _WIDTH, subsequent_indent="  "))
    if answer.exact is not None:
        lines.extend(exact_lines(answer.exact))
    lines.append(f"waiting: {answer.standing.waiting}; problems: {answer.problems}")
    for file, line, kind, message in answer.problem_samples:
        place = f"{file}:{line}" if line else file
        lines.append(f"  {place}  {kind}: {message}")
    left = answer.problems - len(answer.problem_samples)
    if left > 0 and answer.problem_samples:
        lines.append(f"  … {counted(left, 'more problem')}")
    return "\n".join(printable(line)[:LONGEST_LINE] for line in lines)


def quoted(text: str) -> str:
    """Text that somebody wrote in the tree, marked as such: a model must not take it for words of ours."""
    return "`" + text.replace("`", "'") + "`"


def printable(text: str) -> str:
    """Text from the tree without what a terminal obeys: control characters and direction marks
    become their escapes."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)
