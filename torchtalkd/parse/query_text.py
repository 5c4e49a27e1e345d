"""The texts of our tree-sitter queries. Pure."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

_CAPTURE: Final = re.compile(r"@(\w)\w*")


def query_text(name: str) -> str:
    """The query in `queries/<name>.scm`, in which each capture has the first letter of its name: `@callee` is
    `captured["c"]`.

    Of a tree of PyTorch's size there are two million. py-tree-sitter makes the name of each anew, a text that
    is allocated, hashed and compared; CPython keeps those of one letter.
    """
    text = (Path(__file__).parent / "queries" / f"{name}.scm").read_text("utf-8")
    return _CAPTURE.sub(r"@\1", text)
