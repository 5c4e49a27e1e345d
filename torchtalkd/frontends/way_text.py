"""The answer to `trace --path`: as an indented list, or as a graph in Mermaid or Graphviz text."""

from __future__ import annotations

from torchtalkd.frontends.text import printable
from torchtalkd.queries.way import Step, WayAnswer

_MOST: int = 400
"""Steps that are drawn: a larger graph is no picture."""


def way_text(answer: WayAnswer) -> str:
    """One line a step, each below and behind the one that leads to it; no final newline."""
    lines = [f"{answer.operator} on {answer.backend} · {len(answer.steps)} steps · revision "
             f"{answer.standing.revision}"]  # fmt: skip
    if answer.others:
        lines.append(f"other overloads: {', '.join(answer.others)}")
    depth = {0: 0}
    for step in answer.steps:
        depth[step.number] = depth.get(step.after, 0) + 1
        lines.append("  " * depth[step.number] + _line(step))
    return "\n".join(map(printable, lines))


def mermaid(answer: WayAnswer) -> str:
    """A Mermaid flowchart."""
    lines = ["flowchart TD"]
    for step in answer.steps[:_MOST]:
        text = "<br/>".join(_label(step)).replace('"', "#quot;")
        lines.append(f'  s{step.number}["{text}"]')
        if step.after:
            lines.append(f"  s{step.after} --> s{step.number}")
    return printable_lines(lines)


def dot(answer: WayAnswer) -> str:
    """A Graphviz digraph."""
    lines = ["digraph way {", "  node [shape=box, fontname=monospace];"]
    for step in answer.steps[:_MOST]:
        text = "\\n".join(_label(step)).replace('"', '\\"')
        lines.append(f'  s{step.number} [label="{text}"];')
        if step.after:
            lines.append(f"  s{step.after} -> s{step.number};")
    return printable_lines([*lines, "}"])


def printable_lines(lines: list[str]) -> str:
    """Joined, without what a terminal obeys."""
    return "\n".join(map(printable, lines))


def _line(step: Step) -> str:
    key = f" [{step.key}]" if step.key else ""
    place = f"  {step.file}:{step.line}" if step.file else ""
    note = f"  ({step.note})" if step.note else ""
    return f"{step.role}{key}: {step.symbol}{place}{note}"


def _label(step: Step) -> list[str]:
    place = f"{step.file.rpartition('/')[2]}:{step.line}" if step.file else ""
    return [part for part in (f"{step.role} {step.key}".strip(), step.symbol, place) if part]
