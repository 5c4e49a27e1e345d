"""Where in a TOML text does each field stand?

`tomllib` gives values without positions, but a mistake in a manifest is reported with its
line. This module walks a text that `tomllib` has accepted and notes the line of every key,
array element and table header. It checks nothing itself.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TypeAlias

FieldPath: TypeAlias = tuple[str | int, ...]
"""Keys and array positions from the top: `("cpp", "shapes", 3, "shape")`."""

_BLANK = " \t\r"
_END_OF_BARE = ",]}#\n"
_ESCAPES = {"b": "\b", "t": "\t", "n": "\n", "f": "\f", "r": "\r", '"': '"', "\\": "\\", "e": "\x1b"}


def line_of(text: str, path: FieldPath) -> int:
    """The 1-based line of the field at `path`, or of the nearest field around it that is written.

    >>> line_of("[cpp]\\nlaunchers = [\\n  'a',\\n]", ("cpp", "launchers", 0))
    3
    """
    lines = _lines(text)
    while path and path not in lines:
        path = path[:-1]
    return lines.get(path, 1)


@lru_cache(maxsize=8)
def _lines(text: str) -> dict[FieldPath, int]:
    # Whoever asks for one place of a manifest often asks for all of them.
    return _Scanner(text).scan()


class _Scanner:
    """A cursor over a valid TOML text. `found` maps each field to its offset until `scan` ends."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.found: dict[FieldPath, int] = {}
        self.last_index: dict[FieldPath, int] = {}  # Of each array of tables.

    def scan(self) -> dict[FieldPath, int]:
        table: FieldPath = ()
        while self._skip(newlines=True):
            if self.text[self.at] == "[":
                table = self._header()
            else:
                self._assignment(table)
        return {path: self.text.count("\n", 0, at) + 1 for path, at in self.found.items()}

    def _skip(self, *, newlines: bool) -> bool:
        """Pass over blanks, comments and, if wanted, line ends. False at the end of the text."""
        while self.at < len(self.text):
            char = self.text[self.at]
            if char == "#":
                end = self.text.find("\n", self.at)
                self.at = len(self.text) if end < 0 else end
            elif char in _BLANK or (newlines and char == "\n"):
                self.at += 1
            else:
                return True
        return False

    def _header(self) -> FieldPath:
        """`[a.b]` or `[[a.b]]`: the path of the table that follows."""
        start = self.at
        is_array = self.text.startswith("[[", self.at)
        self.at += 2 if is_array else 1
        *parents, last = self._key()
        path: FieldPath = ()
        for part in parents:
            path = self._inside((*path, part))
        path = (*path, last)
        if is_array:
            self.found.setdefault(path, start)
            self.last_index[path] = self.last_index.get(path, -1) + 1
        path = self._inside(path)
        self.found.setdefault(path, start)
        self.at += 2 if is_array else 1
        return path

    def _inside(self, path: FieldPath) -> FieldPath:
        """A table's path; for an array of tables that of its newest element."""
        index = self.last_index.get(path)
        return path if index is None else (*path, index)

    def _assignment(self, table: FieldPath) -> None:
        """`a.b = value`, at the top level or within an inline table."""
        start = self.at
        path = table
        for part in self._key():
            path = (*path, part)
            self.found.setdefault(path, start)
        self.at += 1  # The equals sign.
        self._skip(newlines=False)
        self._value(path)

    def _key(self) -> list[str]:
        """A dotted key; ends before `=` or `]`."""
        parts: list[str] = []
        while self._skip(newlines=False):
            char = self.text[self.at]
            if char == ".":
                self.at += 1
            elif char in "=]":
                break
            elif char in "\"'":
                parts.append(self._string())
            else:
                start = self.at
                while self.at < len(self.text) and self.text[self.at] not in " \t.=]":
                    self.at += 1
                parts.append(self.text[start : self.at])
        return parts

    def _value(self, path: FieldPath) -> None:
        char = self.text[self.at]
        if char == "[":
            self.at += 1
            index = 0
            while self._skip(newlines=True) and self.text[self.at] != "]":
                if self.text[self.at] == ",":
                    self.at += 1
                    continue
                self.found.setdefault((*path, index), self.at)
                self._value((*path, index))
                index += 1
            self.at += 1
        elif char == "{":
            self.at += 1
            while self._skip(newlines=True) and self.text[self.at] != "}":
                if self.text[self.at] == ",":
                    self.at += 1
                else:
                    self._assignment(path)
            self.at += 1
        elif char in "\"'":
            self._string()
        else:
            while self.at < len(self.text) and self.text[self.at] not in _END_OF_BARE:
                self.at += 1

    def _string(self) -> str:
        """Pass over a string of any of the four forms. Its value matters for quoted keys only."""
        quote = self.text[self.at]
        if self.text.startswith(quote * 3, self.at):
            return self._long_string(quote)
        self.at += 1
        value: list[str] = []
        while self.at < len(self.text) and self.text[self.at] not in (quote, "\n"):
            if self.text[self.at] == "\\" and quote == '"':
                value.append(self._escape())
            else:
                value.append(self.text[self.at])
                self.at += 1
        self.at += 1
        return "".join(value)

    def _escape(self) -> str:
        """One backslash escape of a basic string."""
        letter = self.text[self.at + 1 : self.at + 2]
        digits = {"x": 2, "u": 4, "U": 8}.get(letter, 0)
        code = self.text[self.at + 2 : self.at + 2 + digits]
        self.at += 2 + digits
        return chr(int(code, 16)) if digits else _ESCAPES.get(letter, letter)

    def _long_string(self, quote: str) -> str:
        start = self.at + 3
        self.at = start
        while self.at < len(self.text) and not self.text.startswith(quote * 3, self.at):
            self.at += 2 if self.text[self.at] == "\\" and quote == '"' else 1
        value = self.text[start : self.at]
        self.at += 3
        while self.text.startswith(quote, self.at):  # Up to two quotes may end the text itself.
            self.at += 1
        return value
