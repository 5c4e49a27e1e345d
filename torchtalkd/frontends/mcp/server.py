"""One connection's server, on the protocol library's own: tools, prompts, resources, completion.

Answers are text alone: several clients show a model nothing of the text when there is structured
content, too. Refusals and "not found" are results marked as errors, which a model reads; an error of
the protocol it would not see.
"""

from __future__ import annotations

import logging
from typing import Any, Final

from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.types import (
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
    ToolAnnotations,
)

from torchtalkd import __version__
from torchtalkd.frontends.host import RootHandle
from torchtalkd.frontends.mcp.arguments import Refused, checked, schema
from torchtalkd.frontends.mcp.completion import Completing
from torchtalkd.frontends.mcp.descriptions import DESCRIPTIONS, INSTRUCTIONS
from torchtalkd.frontends.mcp.desk import Desk, Report, Said
from torchtalkd.frontends.mcp.prompts import Prompting
from torchtalkd.frontends.mcp.resources import Reading
from torchtalkd.frontends.mcp.tools import SETS

Context = ServerRequestContext[Any, Any]
log = logging.getLogger(__name__)

_READS_ONLY: Final = ToolAnnotations(
    read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
MOST_INSTRUCTIONS: Final = 2_047
"""Characters: clients cut there."""


def build_server(root: RootHandle, note: str = "", tools: str = "all") -> Server[Any]:
    """The server for one connection to a root; `note` is told the model once, and in the status.
    `tools` is one of the names of `SETS`; any other serves all."""
    instructions = INSTRUCTIONS
    if note and len(instructions) + len(note) + 8 <= MOST_INSTRUCTIONS:
        instructions = f"{INSTRUCTIONS}\n\nNote: {note}"
    served = SETS.get(tools, SETS["all"])
    desk = Desk(root, note, served)
    prompting, reading, completing = Prompting(served), Reading(desk), Completing(desk)

    async def list_tools(context: Context, params: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=[_tool(name) for name in served])

    async def call_tool(context: Context, params: CallToolRequestParams) -> CallToolResult:
        return _result(await _said(desk, params, _report(context)))

    return Server(
        "torchtalk",
        title="TorchTalk",
        instructions=instructions,
        version=__version__,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_prompts=prompting.listed,
        on_get_prompt=prompting.got,
        on_list_resources=reading.listed,
        on_list_resource_templates=reading.templates,
        on_read_resource=reading.read,
        on_completion=completing.completed,
    )


def _tool(name: str) -> Tool:
    return Tool(
        name=name,
        description=DESCRIPTIONS[name],
        input_schema=schema(name),
        annotations=_READS_ONLY,
    )


async def _said(desk: Desk, params: CallToolRequestParams, report: Report | None) -> Said:
    """The reply to a call, also to one that fails: what goes wrong is said in words that a model reads."""
    try:
        # A tool that is not served is answered all the same: the instructions that name it stay right.
        return await desk.answer(
            params.name, checked(params.name, params.arguments or {}, desk.tools), report
        )
    except Refused as refused:
        return Said(str(refused), True)
    except Exception as error:
        log.exception("a call of %s failed", params.name)
        return Said(
            f"{params.name} failed by a mistake in torchtalkd ({type(error).__name__}); other questions are"
            " answered: get_status() says what is indexed, `torchtalkd logs` shows what went wrong",
            True,
        )


def _report(context: Context) -> Report | None:
    """How to tell the client of a call how far it is; None where it has not asked for that."""
    if "progress_token" not in (context.meta or {}):
        return None

    async def report(done: float, total: float | None, message: str) -> None:
        await context.session.report_progress(done, total, message)

    return report


def _result(said: Said) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=said.text)], is_error=said.is_error)
