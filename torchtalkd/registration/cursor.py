"""Cursor in a project: the server into `.cursor/mcp.json`, a rule and a command beside what is there.

Nothing that exists is written over; what is done is told file by file, and done once it is not
done again. The texts lie in the clients' package (`clients/cursor` in the repository).
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from torchtalkd.registration.json_text import NotPlain, inserted, parsed
from torchtalkd.registration.known import CLIENTS, snippet
from torchtalkd.registration.program import NAME

FILES: Final = {
    "rules.mdc": f".cursor/rules/{NAME}.mdc",
    "trace.md": f".cursor/commands/{NAME}-trace.md",
}
"""The packaged text → where it goes in a project."""


class Done(NamedTuple):
    """What was done with one file."""

    file: Path
    what: str
    """written, unchanged, added, kept: a word, or a sentence for the user."""
    is_wrong: bool = False
    """Whether the user has something left to do."""


def cursor_add(project: Path, command: Sequence[str], texts: dict[str, str]) -> list[Done]:
    """Adds the server and the texts (by packaged name) to a project. Raises OSError."""
    found = [_server(project / ".cursor" / "mcp.json", command)]
    for name, place in FILES.items():
        found.append(_text(project / place, texts[name]))
    return found


def _server(file: Path, command: Sequence[str]) -> Done:
    client = CLIENTS["cursor"]
    entry = dict(client.entry(command))
    by_hand = f"add it by hand:\n{snippet(client, command)}"
    try:
        # Its line ends stay as they are.
        text = file.read_bytes().decode("utf-8")
    except FileNotFoundError:
        text = ""
    except UnicodeDecodeError:
        return Done(file, f"left as it is, for it is no UTF-8; {by_hand}", True)
    try:
        servers = parsed(text).get(client.section)
        known = servers.get(NAME) if isinstance(servers, dict) else None
        if known == entry:
            return Done(file, "unchanged: the server is registered")
        if known is not None:
            return Done(file, f"left as it is: another server {NAME} is registered there; {by_hand}", True)
        edited = inserted(text, client.section, NAME, entry)
    except NotPlain as error:
        return Done(file, f"left as it is: {error}; {by_hand}", True)
    written(file, edited)
    return Done(file, f"the server {NAME} is added" if text else "written")


def _text(file: Path, text: str) -> Done:
    try:
        known = file.read_bytes()
    except FileNotFoundError:
        written(file, text)
        return Done(file, "written")
    if known == text.encode("utf-8"):
        return Done(file, "unchanged")
    return Done(file, "kept: it is not as this version would write it; delete it to have it written anew")


def written(file: Path, text: str) -> None:
    """Writes a file in one step, through symbolic links; its mode stays. Raises OSError."""
    file = file.resolve()
    file.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(prefix=".torchtalk-", dir=file.parent)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as stream:
            stream.write(text)
            os.fchmod(stream.fileno(), file.stat().st_mode & 0o777 if file.exists() else 0o644)
        os.replace(temporary, file)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
