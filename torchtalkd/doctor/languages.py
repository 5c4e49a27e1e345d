"""Two language servers for one language: who else answers where our editor's server does?

An editor asks all of them and shows what each says, or takes the first one. Claude Code has one server for
an extension (`.lsp.json` of a plugin): of two, one is never asked.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from torchtalkd.doctor.values import FIX, NOTE, OK, Finding, Place


def languages(place: Place) -> Iterator[Finding]:
    """Editors' sessions, then the language servers of Claude Code's plugins."""
    for one in place.daemons:
        sessions = (one.get("clients") or {}).get("lsp", 0)
        if sessions > 1:
            said = f"{sessions} editors' sessions: if only one editor window is open, it starts two servers"
            yield Finding("languages", NOTE, said, "remove one of the two from the editor's configuration")
    servers = list(_plugins(place))
    by_extension = defaultdict(set)
    for plugin, name, command, extension in servers:
        by_extension[extension].add((plugin, name, "torchtalk" in os.path.basename(command)))
    clash = {
        extension: sorted(found)
        for extension, found in by_extension.items()
        if len(found) > 1 and any(is_ours for _, _, is_ours in found)
    }
    for extension, found in sorted(clash.items()):
        names = ", ".join(f"{name} of {plugin}" for plugin, name, _ in found)
        other = next((plugin for plugin, _, is_ours in found if not is_ours), found[0][0])
        said = f"Claude Code has several language servers for {extension}, of which it asks one: {names}"
        yield Finding("languages", FIX, said, f"claude plugin disable {other}")
    if not clash:
        yield Finding("languages", OK, "no two servers for one language are known")


def _plugins(place: Place) -> Iterator[tuple[str, str, str, str]]:
    """(plugin, server, command, extension) of Claude Code's installed plugins that bring language servers."""
    home = Path(place.environ.get("HOME") or os.path.expanduser("~"))
    listed = _json(home / ".claude" / "plugins" / "installed_plugins.json").get("plugins")
    for plugin, installed in (listed if isinstance(listed, dict) else {}).items():
        copies = installed if isinstance(installed, list) else [installed]
        for copy in copies:
            path = copy.get("installPath") if isinstance(copy, dict) else None
            for name, server in _json(Path(str(path)) / ".lsp.json").items() if path else ():
                if not isinstance(server, dict):
                    continue
                extensions = server.get("extensionToLanguage")
                for extension in extensions if isinstance(extensions, dict) else ():
                    yield str(plugin), str(name), str(server.get("command") or ""), str(extension)


def _json(file: Path) -> dict[str, Any]:
    """The object in a file; {} where there is none, for it is not ours to mend."""
    try:
        found = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
