"""`mcp-serve` and `lsp`, which agents' clients and editors start and wait for: begun without argparse.

Loading that, and the arguments of all the other commands, takes longer than all the rest of a bridge's
start. So plain words are read here: flags that the two have, spelled out, with a value each. Anything else
(help, a mistake, an odd way to write it) is left to `command_arguments`, which reads the same words to the
same end. The tests are in `tests/test_bridge_arguments.py`.
"""

from __future__ import annotations

import importlib
import os
import sys

TYPE_CHECKING = False
"""As in `typing`, which a bridge does without."""
if TYPE_CHECKING:
    from types import ModuleType

BRIDGES = ("mcp-serve", "lsp")
TOOLS = ("core", "classic", "all")
"""What `--tools` may be; the last one is the default."""
_NAMES = {"--source": "source", "--pytorch-source": "source", "--harness": "harness"}


class Asked:
    """The words of a bridge."""

    def __init__(self) -> None:
        self.source: str | None = None
        self.harness: str | None = None
        self.tools = TOOLS[-1]

    def __repr__(self) -> str:
        return f"Asked({self.source!r}, {self.harness!r}, {self.tools!r})"


def plain(argv: list[str]) -> Asked | None:
    """What the words of a bridge say; None where they are another command's, or not plain."""
    command, *words = argv or [""]
    if command not in BRIDGES:
        return None
    asked = Asked()
    while words:
        flag, equals, value = words.pop(0).partition("=")
        if flag == "--stdio" and command == "lsp" and not equals:
            continue
        if not equals:
            value = words.pop(0) if words else "-"
            if value.startswith("-"):
                return None
        if flag in _NAMES:
            setattr(asked, _NAMES[flag], value)
        elif flag == "--tools" and command == "mcp-serve" and value in TOOLS:
            asked.tools = value
        else:
            return None
    return asked


def bridge(argv: list[str]) -> int | None:
    """Serves a client or an editor until it ends; the exit code. None, at once, where the words are not
    plain ones of a bridge."""
    asked = plain(argv)
    return None if asked is None else serve(argv[0], asked.source, asked.harness, asked.tools)


def serve(command: str, source: str | None, harness: str | None, tools: str) -> int:
    """As `bridge`, of words that were read."""
    bridge = _client("bridge")
    if command == "lsp":
        return int(bridge.serve(source, harness, _client("editor_messages").EDITOR))
    return int(bridge.serve(source, harness, tools=tools))


def _client(name: str) -> ModuleType:
    """A module of the package that is installed as torchtalkd_clients."""
    try:
        return importlib.import_module(f"torchtalkd_clients.{name}")
    except ModuleNotFoundError:
        # A checkout that is run as it stands has the package under its folder's name.
        from importlib.util import module_from_spec, spec_from_file_location

        folder = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "clients")
        spec = spec_from_file_location("torchtalkd_clients", os.path.join(folder, "__init__.py"))
        if spec is None or spec.loader is None:
            raise
        package = sys.modules["torchtalkd_clients"] = module_from_spec(spec)
        spec.loader.exec_module(package)
        return importlib.import_module(f"torchtalkd_clients.{name}")
