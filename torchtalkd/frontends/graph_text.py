"""The answer to `graph` as text, level by level, or as a graph in Mermaid or Graphviz text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from torchtalkd.frontends.standing_text import standing_words
from torchtalkd.frontends.text import printable
from torchtalkd.frontends.unknown_text import unknown_text
from torchtalkd.queries.graph import GraphAnswer, GraphNode, GraphWay

MOST_BYTES: Final = 9_500
"""Of a default answer: what agents' clients take whole, with room for what they add."""
MOST_DRAWN: Final = 400
"""Nodes that are drawn: a larger graph is no picture."""
_TITLES: Final = {"callers": "called by", "calls": "calls", "impact": "affected"}


def graph_text(
    answer: GraphAnswer,
    *,
    limit: int = 0,
    whole: bool = False,
    most_bytes: int = MOST_BYTES,
    levels: Sequence[list[str]] | None = None,
) -> str:
    """The nodes of each level, a line each, those of equal name together; no final newline.

    Fewer than `most_bytes` unless `whole` or a `limit` of nodes is given. `levels` are its `graph_lines`,
    where they are known.
    """
    if answer.error or not answer.found:
        return _not_found(answer)
    lines = [_head(answer), *_starts(answer)]
    levels = graph_lines(answer) if levels is None else levels
    room = None if whole or limit else most_bytes
    shown = _shares([len(rows) for rows in levels], limit) if limit else _fitting(levels, room, answer)
    cut = 0
    for level, (rows, most) in enumerate(zip(levels, shown, strict=True), 1):
        if rows:
            lines += ["", f"{_title(answer, level)} ({_count(answer, level)})"]
            lines += rows[:most]
        if most < len(rows):
            cut += len(rows) - most
            lines.append(f"  … {len(rows) - most} more lines of this level")
    lines += ["", *_python(answer, whole or bool(limit))] if answer.python else []
    lines += ["", *_left(answer, cut)]
    return "\n".join(printable(line) for line in lines).rstrip("\n")


def graph_lines(answer: GraphAnswer) -> list[list[str]]:
    """The lines of each level, all of them."""
    return [list(_level(answer, level)) for level in range(1, answer.depth + 1)]


def _head(answer: GraphAnswer) -> str:
    starts = _names(answer)
    depth = f" within {answer.depth} levels" if answer.depth > 1 else ""
    least = "at least " if answer.stopped else ""
    said = f"{answer.mode} of {', '.join(starts[:3])}{' …' if len(starts) > 3 else ''}: "
    return " · ".join(
        part
        for part in (
            f"{said}{least}{answer.total}{depth}",
            _certainty(answer),
            *standing_words(answer.standing),
        )
        if part
    )


def _names(answer: GraphAnswer) -> list[str]:
    return list(dict.fromkeys(node.name for node in answer.nodes if not node.level))


def _certainty(answer: GraphAnswer) -> str:
    share, steps = answer.exact, f"{answer.exact_ways} of {answer.ways} steps exact"
    if not share.read:
        return "all by name (nothing is read by a compiler)" if answer.ways else ""
    if share.pending:
        return f"{steps}, a compiler has read {share.read} of {share.total} units"
    return steps


def _starts(answer: GraphAnswer) -> Iterator[str]:
    starts = [node for node in answer.nodes if not node.level]
    for node in starts[:4]:
        itself = f"  (calls itself at :{node.ways[0].line})" if node.ways else ""
        yield f"{node.file}:{node.line}  {node.name}  {node.kind}{itself}"
    if len(starts) > 4:
        yield f"… and {len(starts) - 4} more definitions"


def _title(answer: GraphAnswer, level: int) -> str:
    if answer.depth == 1:
        return _TITLES[answer.mode]
    return f"level {level}"


def _count(answer: GraphAnswer, level: int) -> int:
    return sum(node.level == level for node in answer.nodes)


def _level(answer: GraphAnswer, level: int) -> Iterator[str]:
    """A line for each name of a level, with its places."""
    groups: dict[tuple[str, str, bool], list[GraphNode]] = {}
    for node in answer.nodes:
        if node.level == level:
            groups.setdefault((node.name, node.kind, node.role == "test"), []).append(node)
    numbered = {node.number: node.name for node in answer.nodes}
    for (name, kind, test), nodes in groups.items():
        places = [f"{nodes[0].file}:{nodes[0].line}", *(_short(nodes[0], node) for node in nodes[1:3])]
        more = f" +{len(nodes) - 3}" if len(nodes) > 3 else ""
        what = f" [{kind}]" if kind not in ("function", "python") else ""
        place = f"{', '.join(places)}{more}"
        yield f"  {place}  {name}{what}{' (test)' if test else ''}{_by(nodes, numbered, level)}"


def _short(first: GraphNode, node: GraphNode) -> str:
    return f":{node.line}" if node.file == first.file else f"{node.file}:{node.line}"


def _by(nodes: list[GraphNode], numbered: dict[int, str], level: int) -> str:
    """How one gets there: what is not a plain call, where it is written, from whom."""
    ways = [way for node in nodes for way in node.ways]
    said = "; ".join(_some(list(_hops(ways)), 2))
    own = {node.file for node in nodes}
    sites = (f":{way.line}" if way.file in own else f"{_last(way.file)}:{way.line}" for way in ways)
    at = f" at {', '.join(_some(list(dict.fromkeys(sites)), 3))}" if ways else ""
    after = list(dict.fromkeys(numbered[way.after] for way in ways)) if level > 1 else []
    return f"  ({said}{at}){' → ' if after else ''}{', '.join(_some(after, 2))}"


def _some(all_of_them: list[str], most: int) -> list[str]:
    return [*all_of_them[:most], "…"] if len(all_of_them) > most else all_of_them


def _hops(ways: list[GraphWay]) -> Iterator[str]:
    """Each kind of hop once, with what it leads through; of an operator's own kernels only the keys."""
    groups: dict[tuple[str, str], dict[str, None]] = {}
    for way in ways:
        through = way.through
        if way.hop == "dispatcher" and " · " in through:
            through = through.rpartition(" · ")[2]
        groups.setdefault((way.hop, _doubt(way)), {}).setdefault(through)
    for (hop, doubt), throughs in groups.items():
        through = ", ".join(_some([t for t in throughs if t], 3))
        yield f"{hop}{' ' if through else ''}{through}{doubt}"


def _doubt(way: GraphWay) -> str:
    if way.evidence != "candidate":
        return ""
    return ", may be" if way.candidates < 2 else f", one of {way.candidates}"


def _last(path: str) -> str:
    return path.rpartition("/")[2]


def _python(answer: GraphAnswer, whole: bool) -> Iterator[str]:
    most = None if whole else 40
    yield f"from Python ({len(answer.python)})"
    for entry in answer.python[:most]:
        yield f"  {entry.file}:{entry.line}  {entry.name} ({entry.kind})"
    if most is not None and len(answer.python) > most:
        yield f"  … {len(answer.python) - most} more: --all"


def _left(answer: GraphAnswer, cut: int) -> Iterator[str]:
    if cut:
        yield f"{cut} lines not shown: --limit N, --all"
    if answer.crowded:
        yield (
            f"not gone through: {answer.crowded} names that may mean more than 8 things each"
            " (--fuzzy-all-levels goes on)"
        )
    if answer.stopped and answer.walked < answer.depth:
        yield (
            f"stopped behind level {answer.walked}, which has more nodes than a walk goes on from:"
            " there are more (--all goes on)"
        )
    elif answer.stopped:
        yield "stopped: the walk met as many nodes as it may"


def _not_found(answer: GraphAnswer) -> str:
    if answer.error:
        return printable(answer.error)
    said = f"nothing that calls or is called has the name {answer.query!r}"
    return unknown_text(said, answer.nearest, answer.query)


def _fitting(levels: Sequence[list[str]], room: int | None, answer: GraphAnswer) -> list[int]:
    """How many lines of each level there is room for: nearer levels first, but some of each."""
    if room is None:
        return [len(rows) for rows in levels]
    left = room - 1_200 - (4_000 if answer.python else 0)
    shown = [0] * len(levels)
    for share in (0.6, 1.0):
        for number, rows in enumerate(levels):
            most = left * share if number < len(levels) - 1 else left
            used = 0
            for row in rows[shown[number] :]:
                size = len(row.encode()) + 1
                if used + size > most:
                    break
                used += size
                shown[number] += 1
            left -= used
    return shown


def _shares(sizes: Iterable[int], limit: int) -> list[int]:
    shown = []
    for size in sizes:
        shown.append(min(size, limit))
        limit -= shown[-1]
    return shown


def mermaid(answer: GraphAnswer) -> str:
    """A Mermaid flowchart; arrows point from who calls to what is called."""
    lines = ["flowchart LR"]
    for node in answer.nodes[:MOST_DRAWN]:
        text = f"{node.name}<br/>{_last(node.file)}:{node.line}".replace('"', "#quot;")
        lines.append(f'  n{node.number}["{text}"]')
    for caller, called, hop in _arrows(answer):
        lines.append(f"  n{caller} -->|{hop}| n{called}")
    return "\n".join(map(printable, lines))


def dot(answer: GraphAnswer) -> str:
    """A Graphviz digraph; arrows point from who calls to what is called."""
    lines = ["digraph calls {", "  rankdir=LR; node [shape=box, fontname=monospace];"]
    for node in answer.nodes[:MOST_DRAWN]:
        text = f"{node.name}\\n{_last(node.file)}:{node.line}".replace('"', '\\"')
        lines.append(f'  n{node.number} [label="{text}"];')
    for caller, called, hop in _arrows(answer):
        lines.append(f'  n{caller} -> n{called} [label="{hop}"];')
    return "\n".join(map(printable, [*lines, "}"]))


def _arrows(answer: GraphAnswer) -> Iterator[tuple[int, int, str]]:
    seen = set()
    for node in answer.nodes[:MOST_DRAWN]:
        for way in node.ways:
            ends = (way.after, node.number) if answer.mode == "calls" else (node.number, way.after)
            arrow = (*ends, way.hop)
            if arrow not in seen:
                seen.add(arrow)
                yield arrow
