"""What a Python file says of the tests that it makes of others. Pure.

Kept is the text, as written: of decorators that make several tests of one function (`@ops(unary_ufuncs,
dtypes=OpDTypes.none)`, `@parametrize("n", SIZES)`), of calls that make test classes of a class
(`instantiate_device_type_tests(TestCommon, globals())`), of the arguments of an entry (`OpInfo(…)`), and of
the names that these texts mention. What it comes to depends on other files: `link.expressions` says.

Where it is kept: a function's detail has `cases` ([decorator's name, text] from top to bottom), `followed`
(the names of decorators that stand for one of these) and `bare` (those above one of them that are written
without a call); a class's detail `made` (texts of calls) and what `python_of_classes` tells; the module's
detail `constants` (name → text). A list of entries is a Definition of the kind `variable` with the convention
`test_list`; its detail has `value` (text, '' where its entries are written out in it) and `added` (texts of
`+=`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from fnmatch import translate
from functools import cache
from typing import Any, Final, NamedTuple

from tree_sitter import Node

from torchtalkd import keys
from torchtalkd.conventions.values import PythonTests
from torchtalkd.facts import Definition
from torchtalkd.parse.python_cases import renamed, returned, text_of
from torchtalkd.parse.python_of_classes import told_of_classes
from torchtalkd.parse.python_outline import Outline
from torchtalkd.parse.python_static import Bound, passes
from torchtalkd.parse.python_uses import BindingCall
from torchtalkd.parse.python_values import Arguments, arguments_of, chain_of

LIST: Final = "test_list"
"""The convention of a list of entries."""
_LONGEST_ARGUMENT: Final = 300
_MOST_CONSTANTS: Final = 200
_WORD: Final = re.compile(r"[A-Za-z_]\w*")
_ADDS: Final = re.compile(r"(\w+)\.(?:append|extend|insert)")
"""A method that adds to a list."""
_LEFT_OUT: Final = frozenset(("skips", "decorators"))
"""Arguments of an entry that are long and say nothing of its names."""
_STATEMENTS: Final = frozenset(("assignment", "augmented_assignment"))
_BODIES: Final = frozenset(("function_definition", "lambda", "module"))


class Decorated(NamedTuple):
    """A decorator of a definition."""

    ordinal: int
    name: str
    """Full, as far as the file tells."""
    node: Node


def read_tests(
    out: Outline, decorated: Iterable[Decorated], calls: Iterable[BindingCall], tests: PythonTests
) -> None:
    """Adds to the definitions what the file's decorators and calls make of its tests."""
    known = _known(tests)
    texts = _cases(out, decorated, known.cases)
    texts += _made(out, calls, known.makers)
    told_of_classes(out, known.makers)
    entries = out.entry_lists
    named = any(known.lists.fullmatch(out.text(name)) for name, _ in out.assigned)
    if texts or entries or named:
        _name_values(out, texts, entries, known.lists if named else None)


class _Known(NamedTuple):
    cases: frozenset[str]
    makers: frozenset[str]
    lists: re.Pattern[str]


@cache
def _known(tests: PythonTests) -> _Known:
    pattern = re.compile("|".join(map(translate, tests.lists)) or "(?!)")
    return _Known(frozenset(tests.cases), frozenset(tests.makers), pattern)


def entry_detail(out: Outline, site: Node, arguments: Arguments) -> dict[str, Any]:
    """`list`: the variable that a list with this entry is assigned to; `said`: its arguments by keyword,
    '' for a long one."""
    said = {
        name: text_of(out, node) if node.end_byte - node.start_byte <= _LONGEST_ARGUMENT else ""
        for name, node in arguments.keyword.items()
        if name not in _LEFT_OUT
    }
    held = _assigned_to(out, site)
    if held:
        out.entry_lists.add(held)
    return {"list": held, "said": said}


def entries_of(call: Node, out: Outline) -> list[tuple[Bound, Node]]:
    """The passes of the loops around an entry's call, each with the place where the entry is listed. An
    entry that a function returns stands where that function is called:
    `def make(variant): return OpInfo("f", variant_test_name=variant)`."""
    around = call.parent
    while around is not None and around.type not in _BODIES:
        around = around.parent
    if around is None or around.type != "function_definition":
        return [(bound, call) for bound in passes(call, out)]
    name, listed = around.child_by_field_name("name"), around.child_by_field_name("parameters")
    ordinal = out.by_start.get(name.start_byte) if name is not None else None
    if ordinal is None or listed is None or out.root is None:
        return [(bound, call) for bound in passes(call, out)]
    names = [_parameter(out, node) for node in listed.named_children if node.type != "comment"]
    found: list[tuple[Bound, Node]] = []
    for reference in out.references:
        if reference.kind == "call" and reference.name == out.definitions[ordinal].name:
            at = (reference.line - 1, reference.column)
            callee = out.root.descendant_for_point_range(at, at)
            site = callee.parent if callee is not None else None
            if site is not None and site.type == "call":
                given = arguments_of(site, out)
                bound = dict(zip(names, given.positional, strict=False))
                bound.update((word.encode(), node) for word, node in given.keyword.items())
                found += [({**outer, **bound}, site) for outer in passes(site, out)]
    return found or [({}, call)]


def _parameter(out: Outline, node: Node) -> bytes:
    named = node if node.type == "identifier" else node.child_by_field_name("name")
    return out.data[named.start_byte : named.end_byte] if named is not None else b""


def _assigned_to(out: Outline, call: Node) -> str:
    around = call.parent
    while around is not None and around.type not in _BODIES:
        if around.type in _STATEMENTS:
            left = around.child_by_field_name("left")
            return out.text(left) if left is not None and left.type == "identifier" else ""
        if around.type == "call" and around != call:
            held = _ADDS.fullmatch(out.text(around.child_by_field_name("function") or around))
            if held is not None:
                return held[1]
        around = around.parent
    return ""


def _cases(out: Outline, decorated: Iterable[Decorated], cases: frozenset[str]) -> list[str]:
    """Tells functions and classes the decorators that make several of them; returns their texts."""
    texts: list[str] = []
    found: dict[int, list[list[str]]] = {}
    bare: dict[int, list[str]] = {}
    lost: dict[int, list[str]] = {}
    followed: dict[int, list[str]] = {}
    assigned: dict[bytes, list[Node]] | None = None
    functions: dict[str, int] = {}
    own = f"{out.module}."
    for ordinal, full, node in decorated:
        case, name = None, full.rpartition(".")[2]
        if name in cases:
            case = [full, text_of(out, node)]
        elif "." not in full or full.startswith(own):
            # What the file gives such a decorator a name for: `sizes = parametrize("n", [1, 2])`.
            if assigned is None:
                assigned = {}
                for bound, _ in out.assigned:
                    assigned.setdefault(out.data[bound.start_byte : bound.end_byte], []).append(bound)
                functions = {d.name: n for n, d in enumerate(out.definitions) if d.kind == "function"}
            values = assigned.get(name.encode(), ())
            case = renamed(out, values[0], node, cases) if len(values) == 1 else None
            if case is None and not values and full in functions:
                case = returned(out, functions[full], node, cases)
        if case is not None:
            found.setdefault(ordinal, []).append(case)
            if name not in cases:
                followed.setdefault(ordinal, []).append(full)
            texts.append(case[1])
            lost.setdefault(ordinal, []).extend(bare.pop(ordinal, ()))
        elif node.type != "call":
            bare.setdefault(ordinal, []).append(full)
    for ordinal, told in found.items():
        _tell(out, ordinal, "cases", told)
        for what, names in (("bare", lost), ("followed", followed)):
            if names.get(ordinal):
                _tell(out, ordinal, what, names[ordinal])
    return texts


def _made(out: Outline, calls: Iterable[BindingCall], makers: frozenset[str]) -> list[str]:
    """Tells classes the calls that make test classes of them; returns the calls' texts."""
    texts = []
    by_name: dict[str, int] = {}
    for callee, owner, last in calls:
        if last not in makers:
            continue
        call = callee.parent
        if call is None or call.type != "call":
            continue
        by_name = by_name or {d.name: n for n, d in enumerate(out.definitions) if d.kind == "class"}
        first = arguments_of(call, out).at(0)
        if first is None:
            continue
        for bound in passes(call, out):
            chain = chain_of(first, out)
            chain = chain_of(bound[chain], out) if chain in bound else chain
            ordinal = by_name.get(out.resolve(chain, owner)) if chain else None
            if ordinal is not None:
                text = text_of(out, call)
                known = (out.definitions[ordinal].detail or {}).get("made", [])
                _tell(out, ordinal, "made", [*known, text])
                texts.append(text)
    return texts


def _name_values(out: Outline, texts: list[str], entries: set[str], pattern: re.Pattern[str] | None) -> None:
    """What the names are assigned that the texts mention: lists of entries become definitions, all
    others are told with the module."""
    assigned: dict[str, list[Node]] = {}
    for node, owner in out.assigned:
        if out.definitions[owner].kind in ("module", "class"):
            assigned.setdefault(out.text(node), []).append(node)
    lists = entries | {name for name in assigned if pattern is not None and pattern.fullmatch(name)}
    added: dict[str, list[str]] = {}
    for node in out.added if lists else ():
        for text in _values(out, [node]):
            added.setdefault(out.text(node), []).append(text)
    for name in lists & assigned.keys():
        # What a list is extended by, where that is no list that is written out: `op_db.extend(more)`.
        more = re.findall(
            rf"^{name}\.extend\((\w[\w.]*)\)", out.data.decode("utf-8", "replace"), re.MULTILINE
        )
        added.setdefault(name, []).extend(more)
    values = {name: _values(out, nodes) for name, nodes in assigned.items()} if lists else {}
    growing = bool(lists)
    while growing:
        # A list made of lists is one: `ops_and_refs = op_db + python_ref_db`.
        growing = False
        for name, value in values.items():
            parts = [*value, *added.get(name, ())]
            if name not in lists and any(lists.intersection(_WORD.findall(part)) for part in parts):
                lists.add(name)
                growing = True
    for name in sorted(lists):
        nodes = assigned.get(name)
        if nodes:
            _list(out, nodes[0], name in entries, values[name], added.get(name, []))
    _constants(out, texts, {name: nodes for name, nodes in assigned.items() if name not in lists})


def _list(out: Outline, name: Node, entries: bool, values: list[str], added: list[str]) -> None:
    text = out.text(name)
    row, column = name.start_point
    end = name.parent.end_point.row if name.parent is not None else row
    detail: dict[str, Any] = {"value": "" if entries else values[0] if len(values) == 1 else None}
    right = name.parent.child_by_field_name("right") if name.parent is not None else None
    if entries and right is not None:
        added = [*_others(out, right), *added]
    if added:
        detail["added"] = added
    full = f"{out.module}.{text}"
    out.definitions.append(
        Definition(
            keys.py(text), full, "variable", row + 1, column, end + 1, 0, convention=LIST, detail=detail
        )
    )


def _others(out: Outline, value: Node) -> list[str]:
    """The lists that a list with entries takes in: `[OpInfo("f"), *more]`, `[OpInfo("f")] + more`."""
    if value.type == "binary_operator":
        return [text for child in value.named_children for text in _others(out, child)]
    parts = [value]
    if value.type in ("list", "tuple"):
        splats = [child for child in value.named_children if child.type == "list_splat"]
        parts = [child for splat in splats for child in splat.named_children]
    return [out.text(part) for part in parts if part.type in ("identifier", "attribute")]


def _constants(out: Outline, texts: list[str], assigned: dict[str, list[Node]]) -> None:
    found: dict[str, str] = {}
    wanted = [word for text in texts for word in _WORD.findall(text)]
    while wanted and len(found) < _MOST_CONSTANTS:
        name = wanted.pop()
        nodes = assigned.get(name, ())
        # A name that is assigned twice is what the last run of the file made of it.
        values = _values(out, nodes) if len(nodes) == 1 and name not in found else []
        if values and values[0]:
            found[name] = values[0]
            wanted += _WORD.findall(values[0])
    if found:
        _tell(out, 0, "constants", found)


def _values(out: Outline, names: Iterable[Node]) -> list[str]:
    """The texts of what names are assigned; '' where it is long."""
    found = []
    for name in names:
        right = name.parent.child_by_field_name("right") if name.parent is not None else None
        if right is not None:
            found.append(text_of(out, right))
    return found


def _tell(out: Outline, ordinal: int, what: str, value: object) -> None:
    d = out.definitions[ordinal]
    out.definitions[ordinal] = d._replace(detail={**(d.detail or {}), what: value})
