"""The tools of one client: a question to its root, and the reply."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple, TypeVar

from torchtalkd.facts import ExactShare
from torchtalkd.frontends.host import NotReady, RootHandle, RootState
from torchtalkd.frontends.mcp import replies, standing
from torchtalkd.frontends.mcp.arguments import Refused
from torchtalkd.frontends.mcp.calls import Call
from torchtalkd.frontends.mcp.replies import Asked
from torchtalkd.frontends.mcp.standalone import OWN, Own
from torchtalkd.frontends.mcp.standing import Known
from torchtalkd.frontends.mcp.tools import OLDER, SETS, TOOLS
from torchtalkd.frontends.standing_text import standing_words
from torchtalkd.frontends.text import not_settled
from torchtalkd.queries import across
from torchtalkd.queries.answers import Answer, StatusAnswer
from torchtalkd.queries.device_kernels import device_kernels
from torchtalkd.queries.external import joined
from torchtalkd.queries.others import Others
from torchtalkd.queries.ready import Ready, ready
from torchtalkd.queries.status import status
from torchtalkd.store.view import View

T = TypeVar("T")

FIRST_INDEX_SECONDS: Final = 5.0
"""How long a question waits for the first index of a small tree …"""
WATCHED_SECONDS: Final = 25.0
"""… and of any tree where the client shows the progress; some clients end a call after half a minute."""
SMALL_TREE: Final = 1_500
"""Files; a larger tree is not waited for by a client that shows no progress."""
_POLL_SECONDS: Final = 0.05
_REPORT_SECONDS: Final = 0.5
_TELL_SECONDS: Final = 2
"""How often a question that takes long says that it goes on."""

Report = Callable[[float, float | None, str], Awaitable[None]]
"""Tells the client of one call how far it is."""


class Said(NamedTuple):
    """A reply."""

    text: str
    is_error: bool = False


class Desk:
    """What answers the calls of one client."""

    def __init__(self, root: RootHandle, note: str, tools: Collection[str] = SETS["all"]) -> None:
        self.root = root
        self.tools = tools
        self._note = note
        self._told: set[str] = set()
        """The notes that an answer has had."""

    async def answer(self, tool: str, arguments: Mapping[str, Any], report: Report | None = None) -> Said:
        """The reply to a call whose arguments are checked. Raises Refused for a page that there is not."""
        given = {name: value for name, value in arguments.items() if name != "wait"}
        asked = Asked(Call(tool, given), self.tools)
        whole = dict(arguments)
        if tool in OLDER:
            older = OLDER[tool]
            own = {name: parameter.default for name, parameter in TOOLS[tool].items()}
            whole = {older.names.get(name, name): value for name, value in {**own, **arguments}.items()}
            whole |= older.fixed
            tool = older.tool
        defaults = {name: parameter.default for name, parameter in TOOLS[tool].items()}
        call = _Call({**defaults, **whole}, asked, report)
        try:
            if tool in OWN:
                return await self._standalone(OWN[tool], call)
            return await _ANSWERS[tool](self, call)
        except NotReady as error:
            return Said(standing.not_ready_text(self.root.state(), str(error)), True)
        except replies.NoSuchPage as error:
            raise Refused(str(error)) from error

    async def status(self, call: _Call) -> Said:
        """What is indexed."""
        wait = bool(call.given["wait"])
        known = None
        try:
            answer, counts, exact = await self.root.ask(_standing, wait=wait)
            if answer.external:
                answer = replace(answer, external=joined(answer.external, await self.root.bases()))
            known = Known(answer, counts, exact)
        except NotReady as error:
            why = [] if self.root.state().indexing else [str(error)]
        else:
            why = [*standing.state_notes(self.root.state()), *_unsettled(answer.waiting, wait)]
        state = self.root.state()
        notes = dict.fromkeys([*why, self._note, state.note])
        return Said(standing.status_text(known, state, [note for note in notes if note]))

    async def trace(self, call: _Call) -> Said:
        """Where a name is implemented."""
        func, focus = call.given["func"], call.given["focus"]
        answer = await self._across(call, lambda view, others: across.trace(view, func, focus, others))
        return Said(
            replies.trace_text(answer, self._notes(call, answer.waiting), call.asked), not answer.found
        )

    async def search(self, call: _Call) -> Said:
        """What has a name like this."""
        query, mode, backend, limit = (call.given[name] for name in ("query", "mode", "backend", "limit"))
        answer = await self._across(
            call, lambda view, others: across.search(view, query, mode, backend, limit, others)
        )
        text = replies.search_text(answer, self._notes(call, answer.waiting), limit, call.asked)
        # That nothing matches is an answer; a backend that does not exist is a mistake.
        return Said(text, bool(answer.error))

    async def cuda_kernels(self, call: _Call) -> Said:
        """What runs on a CUDA device."""
        name, limit = call.given["function_name"], call.given["limit"]
        answer = await self._ask(call, lambda view: device_kernels(view, name, limit))
        return Said(replies.search_text(answer, self._notes(call, answer.waiting), limit, call.asked))

    async def _standalone(self, own: Own, call: _Call) -> Said:
        answer = await self._ask(call, lambda view: own.question(view, call.given))
        notes = [*self._notes(call, answer.standing.waiting), *own.notes(answer)]
        failed = own.failed(answer)
        certainty = "" if failed else own.certainty(answer)
        whole, extract = (_with(text, certainty) for text in own.text(answer))
        if failed and not answer.error:
            first, newline, rest = whole.partition("\n")
            said = " · ".join((f"{own.absent}: {first}", *standing_words(answer.standing)))
            whole, extract = f"{said}{newline}{rest}", ""
        ways = own.ways(answer, call.given)
        return Said(replies.reply(whole, notes, call.asked, ways, extract=extract), failed)

    async def _ask(self, call: _Call, question: Callable[[View], T]) -> T:
        wait = bool(call.given["wait"])
        return await self.waiting(lambda: self.root.ask(question, wait=wait), call.report)

    async def _across(self, call: _Call, question: Callable[[View, Others], Answer]) -> Answer:
        wait, all_roots = bool(call.given["wait"]), bool(call.given["all_roots"])
        return await self.waiting(
            lambda: self.root.across(question, wait=wait, all_roots=all_roots), call.report
        )

    async def waiting(self, ask: Callable[[], Awaitable[T]], report: Report | None) -> T:
        """The answer to a question; the first index of a small tree is waited for, of any tree where
        somebody watches. Raises NotReady."""
        began = time.monotonic()
        patience = WATCHED_SECONDS if report is not None else FIRST_INDEX_SECONDS
        told = 0.0
        while True:
            try:
                return await _watched(ask(), report)
            except NotReady:
                state = self.root.state()
                late = time.monotonic() - began >= patience or (report is None and state.total > SMALL_TREE)
                if late or state.error or not state.indexing:
                    raise
            if report is not None and time.monotonic() - told >= _REPORT_SECONDS:
                told = time.monotonic()
                await report(state.done, state.total or None, _far(state))
            await asyncio.sleep(_POLL_SECONDS)

    def _notes(self, call: _Call, waiting: int) -> list[str]:
        """What an answer must say beside itself: of its index each time, all else once."""
        state = self.root.state()
        once = [n for n in dict.fromkeys((self._note, state.note)) if n and n not in self._told]
        self._told.update(once)
        return [*standing.state_notes(state), *once, *_unsettled(waiting, bool(call.given["wait"]))]


class _Call(NamedTuple):
    """A call of a core tool."""

    given: Mapping[str, Any]
    """All of its arguments, with the defaults."""
    asked: Asked
    """As the client called it."""
    report: Report | None


_ANSWERS: Final[Mapping[str, Callable[[Desk, _Call], Awaitable[Said]]]] = {
    "get_status": Desk.status,
    "trace": Desk.trace,
    "search": Desk.search,
    "cuda_kernels": Desk.cuda_kernels,
}
"""By tool, without those of `OWN` and the older ones that are a core tool's."""


async def _watched(asking: Awaitable[T], report: Report | None) -> T:
    """What is awaited; as long as it takes, whoever watches hears that it goes on."""
    if report is None:
        return await asking
    task = asyncio.ensure_future(asking)
    seconds = 0
    try:
        while not (await asyncio.wait([task], timeout=_TELL_SECONDS))[0]:
            seconds += _TELL_SECONDS
            await report(seconds, None, f"still looking, for {seconds} s")
        return await task
    finally:
        task.cancel()


def _with(text: str, certainty: str) -> str:
    """The text with a word more at the end of its first line."""
    first, newline, rest = text.partition("\n")
    return f"{first} · {certainty}{newline}{rest}" if text and certainty else text


def _far(state: RootState) -> str:
    if not state.total:
        return f"listing the files of {state.root}"
    return f"indexing {state.root}: {state.done} of {state.total} files are read"


def _unsettled(waiting: int, wait: bool) -> list[str]:
    return [not_settled(waiting)] if wait and waiting else []


def _standing(view: View) -> tuple[StatusAnswer, Ready, ExactShare]:
    """What the status says of a revision: counting its rows takes some 50 ms, so they are kept. What a
    compiler reads in the background makes no revision."""
    found: tuple[StatusAnswer, Ready] | None = view.kept.get("mcp_status")
    if found is None:
        found = view.kept["mcp_status"] = (status(view), ready(view))
    return *found, view.exact_share()
