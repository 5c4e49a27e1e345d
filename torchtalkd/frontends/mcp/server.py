"""The tools of one connection, as a server of the protocol's own library.

Answers are text alone: several clients show a model nothing of the text when there is structured
content, too. Refusals and "not found" are results marked as errors, which a model reads; what the
library raises itself would come with a prefix of its own.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Annotated, Any, Final, TypeVar

from mcp.server.mcpserver import Context, MCPServer
from mcp_types import CallToolResult, InputRequiredResult, TextContent, ToolAnnotations
from pydantic import Field

from torchtalkd import __version__
from torchtalkd.frontends.host import NotReady, RootHandle
from torchtalkd.frontends.mcp import replies
from torchtalkd.frontends.mcp.arguments import MOST_MATCHES, Refused, checked
from torchtalkd.frontends.mcp.descriptions import DESCRIPTIONS, INSTRUCTIONS, PARAMETERS
from torchtalkd.queries import ready as readiness
from torchtalkd.queries import search as searching
from torchtalkd.queries import status as standing
from torchtalkd.queries import trace as tracing

T = TypeVar("T")

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
        self._told = False
        """Whether an answer has had the note."""

    async def get_status(self) -> CallToolResult:
        """What is indexed."""
        try:
            answer, counts = await self._root.ask(lambda view: (standing.status(view), readiness.ready(view)))
        except NotReady:
            state = self._root.state()
            notes = [state.error, self._note or state.note]
            return _said(replies.status_text(None, None, state, [n for n in notes if n]))
        state = self._root.state()
        notes = [*replies.state_notes(state), self._note or state.note]
        return _said(replies.status_text(answer, counts, state, [n for n in notes if n]))

    async def trace(
        self,
        func: Annotated[str, Field(description=PARAMETERS["func"])],
        focus: Annotated[tracing.Focus, Field(description=PARAMETERS["focus"])] = "full",
    ) -> CallToolResult:
        """Where a name is implemented."""
        try:
            answer = await self._asked(lambda view: tracing.trace(view, func, focus))
        except NotReady as error:
            return self._not_ready(error)
        return _said(replies.trace_text(answer, self._notes()), is_error=not answer.found)

    async def search(
        self,
        query: Annotated[str, Field(description=PARAMETERS["query"])],
        mode: Annotated[searching.Mode, Field(description=PARAMETERS["mode"])] = "bindings",
        backend: Annotated[str, Field(description=PARAMETERS["backend"])] = "",
        limit: Annotated[int, Field(description=PARAMETERS["limit"], ge=1, le=MOST_MATCHES)] = 10,
    ) -> CallToolResult:
        """What has a name like this."""
        try:
            answer = await self._asked(lambda view: searching.search(view, query, mode, backend, limit))
        except NotReady as error:
            return self._not_ready(error)
        # That nothing matches is an answer; a backend that does not exist is a mistake.
        return _said(replies.search_text(answer, self._notes(), limit), is_error=bool(answer.error))

    async def _asked(self, question: Callable[[Any], T]) -> T:
        """The answer to a question; the first index of a small tree is waited for. Raises NotReady."""
        deadline = time.monotonic() + FIRST_INDEX_SECONDS
        while True:
            try:
                return await self._root.ask(question)
            except NotReady:
                state = self._root.state()
                late = time.monotonic() >= deadline or state.total > SMALL_TREE
                if late or state.error or not state.indexing:
                    raise
            await asyncio.sleep(_POLL_SECONDS)

    def _notes(self) -> list[str]:
        state = self._root.state()
        notes = [*replies.state_notes(state)]
        note = self._note or state.note
        if note and not self._told:
            notes.append(note)
            self._told = True
        return notes

    def _not_ready(self, error: NotReady) -> CallToolResult:
        return _said(replies.not_ready_text(self._root.state(), str(error)), is_error=True)


def _said(text: str, *, is_error: bool = False) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=text)], is_error=is_error)
