"""Resources: what a user can hand a model without a question. An operator's card, and the status."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import unquote

from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.types import (
    INVALID_PARAMS,
    ListResourcesResult,
    ListResourceTemplatesResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    TextResourceContents,
)

from torchtalkd.frontends.card_text import card_text
from torchtalkd.frontends.host import NotReady
from torchtalkd.frontends.mcp.desk import Desk
from torchtalkd.queries.named_card import named_card

Context = ServerRequestContext[Any, Any]
STATUS: Final = "torchtalk://status"
OPERATOR: Final = "torchtalk://operator/{name}"
_BEGIN: Final = OPERATOR.partition("{")[0]
_PLAIN: Final = "text/plain"
MOST_NAME: Final = 400


class Reading:
    """The resources of one client."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def listed(self, context: Context, params: PaginatedRequestParams | None) -> ListResourcesResult:
        """The status; operators are too many for a list, they are a template."""
        status = Resource(
            uri=STATUS,
            name="status",
            title="What is indexed",
            description="Which source tree, revision and commit is answered from, and what is missing.",
            mime_type=_PLAIN,
        )
        return ListResourcesResult(resources=[status])

    async def templates(
        self, context: Context, params: PaginatedRequestParams | None
    ) -> ListResourceTemplatesResult:
        """The card of an operator, or of whatever has a name."""
        operator = ResourceTemplate(
            uri_template=OPERATOR,
            name="operator",
            title="Card of an operator",
            description="Schema, kernels by dispatch key, derivative, Python names and tests of one operator"
            " (aten::add.Tensor, torch.matmul), with file and line.",
            mime_type=_PLAIN,
        )
        return ListResourceTemplatesResult(resource_templates=[operator])

    async def read(self, context: Context, params: ReadResourceRequestParams) -> ReadResourceResult:
        """One resource. Raises MCPError for one that does not exist."""
        uri = str(params.uri)
        if uri == STATUS:
            text = (await self._desk.answer("get_status", {})).text
        elif uri.startswith(_BEGIN) and (name := unquote(uri[len(_BEGIN) :]).strip()[:MOST_NAME]):
            text = await self._card(name, uri)
        else:
            raise MCPError(INVALID_PARAMS, f"there are {STATUS} and {OPERATOR}", {"uri": uri})
        return ReadResourceResult(contents=[TextResourceContents(uri=uri, text=text, mime_type=_PLAIN)])

    async def _card(self, name: str, uri: str) -> str:
        try:
            answer = await self._desk.waiting(
                lambda: self._desk.root.ask(lambda view: named_card(view, name)), None
            )
        except NotReady as error:
            raise MCPError(INVALID_PARAMS, str(error), {"uri": uri}) from error
        if not answer.cards:
            raise MCPError(INVALID_PARAMS, card_text(answer), {"uri": uri})
        return card_text(answer)
