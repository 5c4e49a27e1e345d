"""Names that complete what a user types into the argument of a prompt or of a resource."""

from __future__ import annotations

from typing import Any, Final

from mcp.server.context import ServerRequestContext
from mcp.types import (
    CompleteRequestParams,
    CompleteResult,
    Completion,
    PromptReference,
)

from torchtalkd.frontends.host import NotReady
from torchtalkd.frontends.mcp.desk import Desk
from torchtalkd.frontends.mcp.prompts import PROMPTS, Argument
from torchtalkd.frontends.mcp.resources import OPERATOR
from torchtalkd.queries.names import names
from torchtalkd.queries.search import dispatch_keys

Context = ServerRequestContext[Any, Any]
MOST_VALUES: Final = 100
"""Of one answer, by the protocol."""


class Completing:
    """Completes for one client."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def completed(self, context: Context, params: CompleteRequestParams) -> CompleteResult:
        """The values that begin with, or contain, what is typed; none while there is no index."""
        argument, typed = params.argument.name, params.argument.value
        found: list[str] = []
        if isinstance(params.ref, PromptReference):
            prompt = PROMPTS.get(params.ref.name)
            found = await self._of(prompt.arguments.get(argument) if prompt else None, argument, typed)
        elif params.ref.uri == OPERATOR:
            found = await self._names(typed)
        return CompleteResult(
            completion=Completion(
                values=found[:MOST_VALUES], total=len(found), has_more=len(found) > MOST_VALUES
            )
        )

    async def _of(self, argument: Argument | None, name: str, typed: str) -> list[str]:
        if argument is None:
            return []
        if argument.is_name:
            return await self._names(typed)
        choices = argument.choices or (await self._keys() if name == "backend" else ())
        return [choice for choice in choices if choice.casefold().startswith(typed.strip().casefold())]

    async def _names(self, typed: str) -> list[str]:
        # Of several names, separated by commas, the last one is being typed.
        before, comma, last = typed.rpartition(",")
        try:
            found = await self._desk.root.ask(lambda view: names(view, last.strip()))
        except NotReady:
            return []
        return [f"{before}{comma}{' ' if comma else ''}{name}" for name in found]

    async def _keys(self) -> tuple[str, ...]:
        try:
            return tuple(await self._desk.root.ask(dispatch_keys))
        except NotReady:
            return ()
