"""What a tool says of the index itself: how far it is, what is missing, when to ask again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from torchtalkd.facts import ExactShare
from torchtalkd.frontends.host import RootState, Watched
from torchtalkd.frontends.mcp.replies import one_page
from torchtalkd.frontends.standing_text import external_text
from torchtalkd.frontends.text import printable
from torchtalkd.queries.answers import StatusAnswer
from torchtalkd.queries.ready import Ready

UNIT_SECONDS: Final = 0.13
"""For a compiler to read one file, with two workers (PyTorch 2.6.0 on two cores): a guess, no promise."""
_BY_NAME: Final = "by name only, because no source has been read by a compiler yet"


class Known(NamedTuple):
    """What a revision has."""

    answer: StatusAnswer
    ready: Ready
    exact: ExactShare


def status_text(known: Known | None, state: RootState, notes: Sequence[str]) -> str:
    """What is indexed, line by line; without an answer, how far the first index is."""
    answer, ready, exact = known or (None, None, ExactShare(0, 0, 0))
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
        f"C++ call graph: {absent or building or _call_graph(exact)}",
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
    text = "\n".join(printable(line)[:260] for line in lines)
    return one_page(text, notes)


def _call_graph(exact: ExactShare) -> str:
    if not exact.read:
        return _BY_NAME
    said = f"a compiler has read {exact.read} of {exact.total} units"
    if not exact.pending:
        return f"Ready, {said}"
    return f"Ready by name, {said}{left(exact)}"


def left(exact: ExactShare) -> str:
    """How long it takes until the rest is read exactly."""
    return f", about {max(1, round(exact.pending * UNIT_SECONDS / 60))} min are left"


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
        f" index is there. Ask again in {_seconds(state)} seconds; get_status() says how far it is."
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
