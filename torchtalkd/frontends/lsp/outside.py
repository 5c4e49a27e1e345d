"""What is ours and no part of the protocol: how far the index is, and an operator's whole chain.

`torchtalk/status` is a request, and a notification to clients when it changes. `torchtalk/trace`
takes `{textDocument, position}` or `{name}` with a `focus`, and gives the object that
`torchtalkd trace --json` prints, each item with its `uri`; `text` is what it prints without, and
`root` the folder that its paths are relative to.
"""

from __future__ import annotations

from typing import Any

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from torchtalkd.frontends.lsp.desk import Asked, Desk, Reply
from torchtalkd.frontends.text import as_text
from torchtalkd.queries.answers import as_json
from torchtalkd.queries.definition import asked as meant_subjects
from torchtalkd.queries.meant import Meant
from torchtalkd.queries.trace import FOCUSES, Focus, trace

STATUS = "torchtalk/status"


def add_to(server: LanguageServer, desk: Desk) -> None:
    """Adds the handlers."""

    @server.feature(STATUS)
    async def status(params: Any) -> Any:
        return await state_of(desk)

    @server.feature("torchtalk/trace")
    async def traced(params: Any) -> Any:
        wanted = getattr(params, "focus", "full")
        focus: Focus = next((known for known in FOCUSES if known == wanted), "full")
        name = getattr(params, "name", None)

        def of_name(asked: Asked, name: str) -> Reply:
            answer = trace(asked.view, name, focus)
            found = as_json(answer)
            for item in found["items"]:
                item["uri"] = asked.places.uri(item["file"])
            found["text"], found["root"] = as_text(answer), asked.root.path
            return asked.reply(found, answer.items)

        if isinstance(name, str):
            for root in await desk.roots():
                found = await desk.ask_root(root, lambda asked: of_name(asked, name))
                if found and found["subjects"]:
                    return found
            return None

        def of_place(asked: Asked, meant: Meant) -> Reply | None:
            subjects = [subject.name for subject in meant_subjects(meant)]
            operator = next((s.name for s in meant.subjects if s.kind == "operator"), "")
            return of_name(asked, operator or subjects[0]) if subjects else None

        try:
            position = types.Position(int(params.position.line), int(params.position.character))
            uri = str(params.textDocument.uri)
        except (AttributeError, TypeError, ValueError):
            return None
        return await desk.at(uri, position, of_place)


async def state_of(desk: Desk) -> dict[str, Any]:
    """How far the indexes of all roots are: whether requests are answered, whether completely."""
    roots = []
    for root in await desk.roots():
        state = root.handle.state()
        roots.append(
            {
                "root": root.path,
                "harness": state.harness,
                "revision": state.revision,
                "responsive": state.revision > 0,
                "complete": state.revision > 0 and not state.indexing and not state.error,
                "indexing": state.indexing,
                "percent": state.percent,
                "waiting": state.waiting,
                "error": state.error,
                "note": state.note,
            }
        )
    return {"roots": roots}
