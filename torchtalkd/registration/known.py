"""The clients whose configuration is known: where it is, and what a server looks like in it.

From their own documentation: Claude Code (`claude mcp --help`), Codex (`codex mcp --help`),
Cursor (cursor.com/docs/context/mcp), VS Code (code.visualstudio.com, MCP configuration reference),
Zed (zed.dev/docs/ai/mcp), Windsurf (docs.windsurf.com/windsurf/cascade/mcp), Gemini CLI
(geminicli.com/docs/tools/mcp-server), Copilot CLI (docs.github.com, `~/.copilot/mcp-config.json`), OpenCode
(opencode.ai/docs/mcp-servers), Claude Desktop (modelcontextprotocol.io, connect to local servers).
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from torchtalkd.registration.program import NAME

Entry = Callable[[Sequence[str]], Mapping[str, Any]]
"""A command → how it stands in a configuration."""


class Client(NamedTuple):
    """A client of agents."""

    title: str
    files: tuple[str, ...]
    """Where its configuration may be, `~` for the home; a name without it is below a project."""
    section: str
    """The member that holds the servers by name."""
    entry: Entry
    toml: bool = False
    projects: str = ""
    """The member that holds, by a project's folder, objects with a `section` of their own."""
    adds: str = ""
    """A command of its own that adds a server, `{}` in place of the command's words."""


def _plain(words: Sequence[str]) -> dict[str, Any]:
    return {"command": words[0], "args": list(words[1:])}


def _typed(words: Sequence[str]) -> dict[str, Any]:
    return {"type": "stdio", **_plain(words)}


def _zed(words: Sequence[str]) -> dict[str, Any]:
    return {**_plain(words), "env": {}}


def _copilot(words: Sequence[str]) -> dict[str, Any]:
    return {"type": "local", **_plain(words), "tools": ["*"]}


def _opencode(words: Sequence[str]) -> dict[str, Any]:
    return {"type": "local", "command": list(words), "enabled": True}


CLIENTS: Final[Mapping[str, Client]] = {
    "claude": Client(
        "Claude Code",
        ("~/.claude.json", ".mcp.json"),
        "mcpServers",
        _typed,
        projects="projects",
        adds=f"claude mcp add {NAME} -s user -- {{}}",
    ),
    "codex": Client(
        "Codex", ("~/.codex/config.toml",), "mcp_servers", _plain, True, adds=f"codex mcp add {NAME} -- {{}}"
    ),
    "cursor": Client("Cursor", ("~/.cursor/mcp.json", ".cursor/mcp.json"), "mcpServers", _typed),
    "vscode": Client(
        "VS Code",
        (
            ".vscode/mcp.json",
            "~/.config/Code/User/mcp.json",
            "~/Library/Application Support/Code/User/mcp.json",
        ),
        "servers",
        _typed,
    ),
    "zed": Client("Zed", ("~/.config/zed/settings.json",), "context_servers", _zed),
    "windsurf": Client("Windsurf", ("~/.codeium/windsurf/mcp_config.json",), "mcpServers", _plain),
    "gemini": Client(
        "Gemini CLI",
        ("~/.gemini/settings.json", ".gemini/settings.json"),
        "mcpServers",
        _plain,
        adds=f"gemini mcp add -s user {NAME} {{}}",
    ),
    "copilot": Client("Copilot CLI", ("~/.copilot/mcp-config.json",), "mcpServers", _copilot),
    "opencode": Client("OpenCode", ("~/.config/opencode/opencode.json", "opencode.json"), "mcp", _opencode),
    "claude-desktop": Client(
        "Claude Desktop",
        (
            "~/.config/Claude/claude_desktop_config.json",
            "~/Library/Application Support/Claude/claude_desktop_config.json",
        ),
        "mcpServers",
        _plain,
    ),
}
"""By the name that `mcp-config` takes."""


def snippet(client: Client, words: Sequence[str]) -> str:
    """What has to stand in the client's configuration, without a final newline."""
    entry = client.entry(words)
    if not client.toml:
        return json.dumps({client.section: {NAME: entry}}, indent=2, ensure_ascii=False)
    lines = [f"[{client.section}.{NAME}]"]
    # Of what these entries hold, JSON's spelling is TOML's.
    lines.extend(f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in entry.items())
    return "\n".join(lines)


def adding(client: Client, words: Sequence[str]) -> str:
    """The client's own command that adds the server; '' where it has none."""
    return client.adds.format(shlex.join(words)) if client.adds else ""
