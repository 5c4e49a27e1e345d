"""The answer to `dispatch` as text: for each key what runs, where, and why."""

from __future__ import annotations

from collections.abc import Iterator

from torchtalkd.frontends.text import printable
from torchtalkd.frontends.unknown_text import unknown_text
from torchtalkd.queries.dispatch import DispatchAnswer, Dispatched, Registration, Row


def dispatch_text(answer: DispatchAnswer) -> str:
    """The answer, without a final newline."""
    lines = [f"{len(answer.operators)} operators" if len(answer.operators) > 1 else ""]
    lines[0] = " · ".join(
        part for part in (lines[0], f"build {answer.build}", f"revision {answer.standing.revision}") if part
    )
    if not answer.query:
        return "\n".join(map(printable, (*lines, *map(_line, answer.operators))))
    for one in answer.operators:
        lines.extend(_operator(one, guards=answer.build == "all"))
    return "\n".join(map(printable, lines))


def _line(one: Dispatched) -> str:
    """An operator among all: where each kind of entry is used."""
    kinds: dict[str, list[str]] = {}
    for row in one.table:
        if row.kind != "backend fallback":
            kinds.setdefault(row.kind, []).append(row.key)
    said = "; ".join(f"{kind}: {', '.join(found)}" for kind, found in kinds.items())
    return f"{one.operator}  {said or 'fallbacks only'}"


def not_an_operator(answer: DispatchAnswer) -> str:
    """Why there is no answer."""
    if answer.error:
        return printable(answer.error)
    return unknown_text(f"no operator is called {', '.join(map(repr, answer.missing))}", answer.nearest)


def _operator(one: Dispatched, *, guards: bool) -> Iterator[str]:
    yield one.schema or f"{one.operator} (its schema is not spelled in this tree)"
    for rows in _alike(one.table):
        row, names = rows[0], ", ".join(r.key for r in rows)
        why = row.why if len(rows) == 1 else row.why.replace(f"no {row.key} kernel of its own", _NONE)
        yield f"  {names}: {row.kind}{_kernel(row)}"
        yield f"      {why}; registered {row.where or 'nowhere'}{_place(row, one)}"
    shown = {row.key for row in one.table}
    hidden = [r for r in one.registrations if "inactive" in r.flags and r.key in shown]
    for r in hidden:
        yield f"  hidden: {r.key} of {r.where}{_source(r)}"
    for r in one.registrations:
        if guards and r.guard:
            yield f"  {r.key} of {r.where} only #if {r.guard}"


_NONE = "no kernels of their own"


def _alike(table: tuple[Row, ...]) -> list[list[Row]]:
    """Keys that come to the same registration, together."""
    found: dict[tuple[str, str, object], list[Row]] = {}
    for row in table:
        apart = row.key if row.kind == "kernel" else ""
        found.setdefault((row.kind, row.where, apart), []).append(row)
    return list(found.values())


def _kernel(row: Row) -> str:
    said = []
    for kernel in row.kernels[:3]:
        place = f" at {kernel.file}:{kernel.line}" if kernel.file else ""
        name = "every operator" if kernel.name.endswith("::*") else kernel.name
        said.append(f"{name}{place}" + (f" ({kernel.note})" if kernel.note else ""))
    more = f" and {len(row.kernels) - 3} more" if len(row.kernels) > 3 else ""
    return f", {'; '.join(said)}{more}" if said else ""


def _place(row: Row, one: Dispatched) -> str:
    """Where the source says it, for what has no line in itself."""
    if row.where and ":" in row.where:
        return ""
    found = next((r for r in one.registrations if r.where == row.where), None)
    return _source(found) if found is not None else ""


def _source(registration: Registration) -> str:
    return f" by {registration.file}:{registration.line}"
