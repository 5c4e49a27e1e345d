"""The tools of one connection, as a server of the protocol's own library.

Answers are text alone: several clients show a model nothing of the text when there is structured
content, too. Refusals and "not found" are results marked as errors, which a model reads; what the
library raises itself would come with a prefix of its own.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from mcp.server.mcpserver import Context, MCPServer
from mcp.types import CallToolResult, InputRequiredResult, TextContent, Tool, ToolAnnotations

from torchtalkd import __version__
from torchtalkd.frontends.host import NotReady, RootHandle
from torchtalkd.frontends.mcp import replies
from torchtalkd.frontends.mcp.arguments import Refused, checked, schema
from torchtalkd.frontends.mcp.descriptions import DESCRIPTIONS, INSTRUCTIONS
from torchtalkd.frontends.text import not_settled
from torchtalkd.queries import across
from torchtalkd.queries import search as searching
from torchtalkd.queries import trace as tracing
from torchtalkd.queries.answers import Answer, StatusAnswer
from torchtalkd.queries.external import joined
from torchtalkd.queries.others import Others
from torchtalkd.queries.ready import Ready, ready
from torchtalkd.queries.status import status
from torchtalkd.store.view import View

FIRST_INDEX_SECONDS: Final = 5.0
"""How long a question waits for the first index of a small tree."""
SMALL_TREE: Final = 1_500
"""Files; a larger tree is not waited for."""
_POLL_SECONDS: Final = 0.05
_READS_ONLY: Final = ToolAnnotations(
    read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
_MOST_INSTRUCTIONS: Final = 2_047
"""Characters: clients cut there."""


class TorchtalkServer(MCPServer[Any]):
    """Checks the arguments of a call before the library does: what it refuses is said in words of
    the tools, and what the library would ignore in silence is refused."""

    async def list_tools(self) -> list[Tool]:
        """The tools, with schemas of our own: the library's repeat each name as a title."""
        tools = await super().list_tools()
        return [tool.model_copy(update={"input_schema": schema(tool.name)}) for tool in tools]

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        """Runs a tool. A call that no tool takes is a result marked as an error."""
        try:
            return await super().call_tool(name, checked(name, arguments), context)
        except Refused as refused:
            return _said(str(refused), is_error=True)


def build_server(root: RootHandle, note: str = "") -> MCPServer[Any]:
    """The server for one connection to a root; `note` is told the model once, and in the status."""
    instructions = INSTRUCTIONS
    if note and len(instructions) + len(note) + 8 <= _MOST_INSTRUCTIONS:
        instructions = f"{INSTRUCTIONS}\n\nNote: {note}"
    server = TorchtalkServer(
        "torchtalk",
        title="TorchTalk",
        instructions=instructions,
        version=__version__,
        log_level="WARNING",
        subscriptions=False,
    )
    desk = _Desk(root, note)

    def tool(function: Callable[..., Any]) -> None:
        name = function.__name__
        server.add_tool(
            function,
            name=name,
            description=DESCRIPTIONS[name],
            annotations=_READS_ONLY,
            structured_output=False,
        )

    for function in (desk.get_status, desk.trace, desk.search):
        tool(function)
    return server


class _Desk:
    """The tools, for one client."""

    def __init__(self, root: RootHandle, note: str) -> None:
        self._root = root
        self._note = note
        self._told: set[str] = set()
        """The notes that an answer has had."""

    async def get_status(self, wait: bool = False) -> CallToolResult:
        """What is indexed."""
        answer, counts = None, None
        try:
            answer, counts = await self._root.ask(_standing, wait=wait)
            if answer.external:
                answer = replace(answer, external=joined(answer.external, await self._root.bases()))
        except NotReady as error:
            why = [] if self._root.state().indexing else [str(error)]
        else:
            why = [*replies.state_notes(self._root.state()), *_unsettled(answer, wait)]
        state = self._root.state()
        notes = dict.fromkeys([*why, self._note, state.note])
        return _said(replies.status_text(answer, counts, state, [note for note in notes if note]))

    async def trace(
        self, func: str, focus: tracing.Focus = "full", all_roots: bool = False, wait: bool = False
    ) -> CallToolResult:
        """Where a name is implemented."""
        try:
            answer = await self._asked(
                lambda view, others: across.trace(view, func, focus, others), wait, all_roots
            )
        except NotReady as error:
            return self._not_ready(error)
        notes = [*self._notes(), *_unsettled(answer, wait)]
        return _said(replies.trace_text(answer, notes), is_error=not answer.found)

    async def search(
        self,
        query: str,
        mode: searching.Mode = "bindings",
        backend: str = "",
        limit: int = 10,
        all_roots: bool = False,
        wait: bool = False,
    ) -> CallToolResult:
        """What has a name like this."""
        try:
            answer = await self._asked(
                lambda view, others: across.search(view, query, mode, backend, limit, others),
                wait,
                all_roots,
            )
        except NotReady as error:
            return self._not_ready(error)
        notes = [*self._notes(), *_unsettled(answer, wait)]
        # That nothing matches is an answer; a backend that does not exist is a mistake.
        return _said(replies.search_text(answer, notes, limit), is_error=bool(answer.error))

    async def _asked(self, question: Callable[[View, Others], Answer], wait: bool, all_roots: bool) -> Answer:
        """The answer to a question; the first index of a small tree is waited for. Raises NotReady."""
        deadline = time.monotonic() + FIRST_INDEX_SECONDS
        while True:
            try:
                return await self._root.across(question, wait=wait, all_roots=all_roots)
            except NotReady:
                state = self._root.state()
                late = time.monotonic() >= deadline or state.total > SMALL_TREE
                if late or state.error or not state.indexing:
                    raise
            await asyncio.sleep(_POLL_SECONDS)

    def _notes(self) -> list[str]:
        """What an answer must say beside itself: of its index each time, all else once."""
        state = self._root.state()
        once = [n for n in dict.fromkeys((self._note, state.note)) if n and n not in self._told]
        self._told.update(once)
        return [*replies.state_notes(state), *once]

    def _not_ready(self, error: NotReady) -> CallToolResult:
        return _said(replies.not_ready_text(self._root.state(), str(error)), is_error=True)


def _unsettled(answer: Answer | StatusAnswer, wait: bool) -> list[str]:
    return [not_settled(answer.waiting)] if wait and answer.waiting else []


def _standing(view: View) -> tuple[StatusAnswer, Ready]:
    """What the status says of a revision: counting its rows takes some 50 ms, so they are kept."""
    found: tuple[StatusAnswer, Ready] | None = view.kept.get("mcp_status")
    if found is None:
        found = view.kept["mcp_status"] = (status(view), ready(view))
    return found


def _said(text: str, *, is_error: bool = False) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=text)], is_error=is_error)
