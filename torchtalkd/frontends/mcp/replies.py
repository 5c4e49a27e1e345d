"""Answers as a tool gives them: text, under 10 KB and 256 lines, with what to ask next.

Line 1 is that of `frontends.text`; a second line says what is not in the answer yet. Errors begin
with phrases that existing instructions for models look for.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

from torchtalkd.frontends.host import RootState, Watched
from torchtalkd.frontends.standing_text import external_text
from torchtalkd.frontends.text import as_text, printable
from torchtalkd.queries.answers import Answer, StatusAnswer
from torchtalkd.queries.ready import Ready

MOST_BYTES: Final = 9_990
MOST_LINES: Final = 254
LONGEST_NOTE: Final = 400
"""Characters."""
_BY_NAME: Final = "by name only, because the sources are read without a compiler so far"


def trace_text(answer: Answer, notes: list[str]) -> str:
    """A trace, or that there is nothing of that name."""
    if not answer.found or answer.error:
        return _told(as_text(answer), notes, "")
    return _told(as_text(answer), notes, _after_trace(answer))


def search_text(answer: Answer, notes: list[str], limit: int) -> str:
    """A list of matches, or that there is none."""
    text = as_text(answer)
    if not answer.found or answer.error:
        return _told(text, notes, "" if answer.error else _call("get_status") + " says what is indexed")
    ways = []
    if answer.shown < answer.total:
        ways.append(
            f"{answer.total - answer.shown} more: "
            + _call("search", query=answer.query, mode=answer.focus, limit=min(200, max(limit * 4, 40)))
        )
    first = next((item.operator or item.symbol for item in answer.items), "")
    ways.append(f"where one is implemented: {_call('trace', func=first)}")
    return _told(text, notes, "Next: " + "; ".join(ways))


def status_text(answer: StatusAnswer | None, ready: Ready | None, state: RootState, notes: list[str]) -> str:
    """What is indexed, line by line; without an answer, how far the first index is."""
    standing = answer.standing if answer else None
    building = ""
    if state.indexing and (answer is None or _is_behind(state)):
        building = f"Building {state.percent} %"
    absent = state.error and answer is None and "not available"
    lines = [
        f"Source: {state.root or (answer.root if answer else '')}",
        f"Harness: {' '.join(filter(None, [answer.harness, answer.version])) if answer else state.harness}",
        f"Files: {answer.files if answer else 0}",
        f"Bindings: {ready.bindings if ready else 0}",
        f"Native functions: {ready.native_functions if ready else 0}",
        f"C++ call graph: {absent or building or _BY_NAME}",
        f"Python modules: {absent or building or _present(ready.python_modules if ready else 0)}",
        f"Tests: {absent or building or _present(ready.tests if ready else 0)}",
        f"Revision: {standing.revision if standing else state.revision}",
        f"Commit: {(standing.commit if standing else '') or 'unknown'}",
        f"Branch: {(standing.branch if standing else '') or 'none'}",
        f"Waiting: {_waiting(answer, state)}",
        f"Watch: {watch_text(state.watch)}",
    ]
    if answer:
        for counted in answer.external:
            said = external_text(counted)
            lines.append(said[0].upper() + said[1:])
        lines.append(f"Problems: {answer.problems}")
        for file, line, kind, message in answer.problem_samples:
            lines.append(f"  {file}:{line}  {kind}: {message}" if line else f"  {file}  {kind}: {message}")
    return _told("\n".join(printable(line)[:260] for line in lines), notes, "")


def watch_text(watch: Watched) -> str:
    """How changes are noticed, in a few words."""
    known = f"{watch.how} ({watch.folders} folders)" if watch.folders else watch.how
    return f"{known}: {watch.note}" if watch.note else known


def not_ready_text(state: RootState, why: str) -> str:
    """There is no index to answer from yet."""
    if not state.indexing:
        return f"Not available: {why}"
    read = f": {state.done} of {state.total} files are read" if state.total else ""
    return (
        f"Still indexing {state.root}, {state.percent} %{read}; nothing can be answered before the first"
        f" index is there. Ask again in {_seconds(state)} seconds; {_call('get_status')} says how far it is."
    )


def state_notes(state: RootState) -> Iterator[str]:
    """What an answer must say of its index, beside what it says itself."""
    if state.error:
        yield f"not up to date: {state.error}"
    if _is_behind(state):
        far = f", {state.percent} % is read" if state.indexing and state.total else ""
        yield (
            f"the index is being brought up to date: {state.waiting or state.total - state.done} files are"
            f" still to be read{far}; this is from what is read so far"
        )


def _is_behind(state: RootState) -> bool:
    return state.waiting > 0 or (state.indexing and state.total > state.done)


def _waiting(answer: StatusAnswer | None, state: RootState) -> str:
    waiting = max(state.waiting, answer.standing.waiting if answer else 0)
    if not waiting and state.indexing:
        waiting = max(0, state.total - state.done)
    incomplete = " (some files could not be read)" if answer and not answer.standing.complete else ""
    return f"{waiting} files{incomplete}"


def _present(count: int) -> str:
    return "Ready" if count else "none in this tree"


def _seconds(state: RootState) -> int:
    """A guess: about 600 files are read in a second, and links are made after that."""
    return max(2, (state.total - state.done) // 600)


def _after_trace(answer: Answer) -> str:
    operator = next((s.name for s in answer.subjects if s.answered and s.kind == "operator"), "")
    if not operator:
        return ""
    ways = {
        "dispatch": "the kernel of each dispatch key",
        "yaml": "schema, dispatch table and formulas",
        "full": "every layer",
    }
    said = [
        f"{what}: {_call('trace', func=operator, focus=focus)}"
        for focus, what in ways.items()
        if focus != answer.focus
    ]
    return "Next: " + "; ".join(said)


def _call(tool: str, **arguments: object) -> str:
    said = ", ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in arguments.items())
    return f"{tool}({said})"


def _told(text: str, notes: list[str], last: str) -> str:
    """The text with notes behind line 1 and a last line of ours in place of the terminal's; whole
    lines are left out at the end until it fits."""
    first, *lines = text.split("\n")
    if lines and (lines[-1].startswith("More: ") or lines[-1].rpartition(": ")[2].startswith("--limit ")):
        lines.pop()
    said = [f"NOTE: {printable(note)[:LONGEST_NOTE]}" for note in notes]
    tail = [printable(last)[:LONGEST_NOTE]] if last else []
    room = MOST_BYTES - sum(len(line.encode()) + 1 for line in (first, *said, *tail))
    size = sum(len(line.encode()) + 1 for line in lines)
    left_out = 0
    while lines and (size > room - 40 or len(lines) + len(said) + len(tail) + 2 > MOST_LINES):
        size -= len(lines.pop().encode()) + 1
        left_out += 1
    if left_out:
        tail.insert(0, f"… {left_out} more {'line' if left_out == 1 else 'lines'} left out")
    return "\n".join([first, *said, *lines, *tail])
