"""Tells the client how far an index is, where it can show it."""

from __future__ import annotations

import asyncio
import uuid
from typing import Any, Final

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer

from torchtalkd.frontends.lsp.desk import Desk
from torchtalkd.frontends.lsp.outside import STATUS, state_of

POLL_SECONDS: Final = 0.25
REST_SECONDS: Final = 2.0


async def report(server: LanguageServer, desk: Desk) -> None:
    """For a session's life: a progress while something is indexed, a notification when the state
    changes. Clients that show no progress are sent none."""
    window = server.client_capabilities.window
    shows = window is not None and bool(window.work_done_progress)
    token = ""
    told: dict[str, Any] = {}
    percent = 0
    while True:
        state = await state_of(desk)
        busy = [root for root in state["roots"] if root["indexing"]]
        if state != told:
            told = state
            server.protocol.notify(STATUS, state)
        if shows and busy and not token:
            token = str(uuid.uuid4())
            try:
                await server.work_done_progress.create_async(token)
            except JsonRpcException:
                # The client refuses: it is told by the notification alone.
                shows, token = False, ""
                continue
            begin = types.WorkDoneProgressBegin(title=f"Indexing {busy[0]['root']}", percentage=0)
            server.work_done_progress.begin(token, begin)
            percent = 0
        elif token and busy:
            percent = max(percent, min(int(root["percent"]) for root in busy))
            server.work_done_progress.report(token, types.WorkDoneProgressReport(percentage=percent))
        elif token:
            server.work_done_progress.end(token, types.WorkDoneProgressEnd(message="indexed"))
            token = ""
        await asyncio.sleep(POLL_SECONDS if busy else REST_SECONDS)
