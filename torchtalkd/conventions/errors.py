"""The errors of this package: a manifest that cannot be used, and where; a field that is wrong."""

from __future__ import annotations

from torchtalkd.conventions.lines import FieldPath


class ManifestError(Exception):
    """A manifest is wrong, or there is none of that name.

    `path` is the file as the user may open it ('' when no file is meant), `line` is
    1-based (0 when no line is meant). `str()` is one line: `path:line: message`.
    """

    def __init__(self, path: str, line: int, message: str) -> None:
        super().__init__(path, line, message)
        self.path = path
        self.line = line
        self.message = message

    def __str__(self) -> str:
        if not self.path:
            return self.message
        return f"{self.path}:{self.line}: {self.message}" if self.line else f"{self.path}: {self.message}"


class FieldError(Exception):
    """What is wrong, and in which field; `load.py` adds the file and the line."""

    def __init__(self, path: FieldPath, message: str) -> None:
        super().__init__(path, message)
        self.path = path
        self.message = message
