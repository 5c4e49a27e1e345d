"""A member put into a JSON text that somebody else keeps: nothing else of the text changes. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple


class NotPlain(ValueError):
    """A text that is no JSON object, or one with comments; `str()` says where."""


def inserted(text: str, section: str, name: str, value: Mapping[str, Any]) -> str:
    """The text with `value` as the member `name` of the object `section` at its top, which is made where
    it lacks. The name must not be there yet. Raises NotPlain."""
    if not text.strip():
        return json.dumps({section: {name: value}}, indent=2, ensure_ascii=False) + "\n"
    wanted = parsed(text)
    if not isinstance(wanted.setdefault(section, {}), dict):
        raise NotPlain(f"{section} is no object")
    present = next((found for found in _members(text) if found.name == section), None)
    if present is None:
        edited = _with_member(text, _top(text), text.rstrip().rindex("}"), section, {name: value}, 1)
    else:
        edited = _with_member(text, present.start, present.end - 1, name, value, 2)
    wanted[section][name] = value
    if parsed(edited) != wanted:
        raise NotPlain("it is written in a way that cannot be changed safely")
    return edited


def parsed(text: str) -> dict[str, Any]:
    """The object that a text is; {} for an empty text. Raises NotPlain."""
    if not text.strip():
        return {}
    try:
        found = json.loads(text)
    except ValueError as error:
        raise NotPlain(f"it is no plain JSON: {error}") from error
    except RecursionError as error:
        raise NotPlain("it is nested too deeply") from error
    if not isinstance(found, dict):
        raise NotPlain("it is no JSON object")
    return found


def without_comments(text: str) -> str:
    """The text without the comments and the commas before a closing bracket that some clients allow: to be
    read, not to be written."""
    plain = _COMMENT.sub(lambda found: found[1] or " ", text)
    return _LAST_COMMA.sub(lambda found: found[1] or "", plain)


_STRING: Final = r'("(?:[^"\\]|\\.)*")'
_COMMENT: Final = re.compile(_STRING + r"|//[^\n]*|/\*.*?\*/", re.DOTALL)
_LAST_COMMA: Final = re.compile(_STRING + r"|,(?=\s*[}\]])")


class _Member(NamedTuple):
    name: str
    start: int
    """Of its value."""
    end: int
    """Behind its value."""


def _top(text: str) -> int:
    return text.index("{")


def _members(text: str) -> Iterator[_Member]:
    """The members of the object that a text is: of a valid text each one."""
    decoder = json.JSONDecoder()
    at = _skip(text, _top(text) + 1)
    while text[at] != "}":
        name, at = decoder.raw_decode(text, at)
        start = _skip(text, _skip(text, at) + 1)
        _, at = decoder.raw_decode(text, start)
        yield _Member(name, start, at)
        at = _skip(text, at)
        if text[at] == ",":
            at = _skip(text, at + 1)


def _skip(text: str, at: int) -> int:
    while text[at] in " \t\r\n":
        at += 1
    return at


def _with_member(
    text: str, opening: int, closing: int, name: str, value: Mapping[str, Any], depth: int
) -> str:
    """The text with one more member at the end of the object between two braces, spelled as its others."""
    inside = text[opening + 1 : closing]
    before = text[:closing].rstrip()
    comma = "" if not inside.strip() else ","
    if "\n" not in text:
        member = f"{json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}"
        return f"{before}{comma}{' ' if comma else ''}{member}{text[closing:]}"
    newline = "\r\n" if "\r\n" in text else "\n"
    step = _step(text)
    spelled = json.dumps(value, indent=step, ensure_ascii=False).split("\n")
    lines = [f"{json.dumps(name, ensure_ascii=False)}: {spelled[0]}", *spelled[1:]]
    member = newline.join(step * depth + line for line in lines)
    return f"{before}{comma}{newline}{member}{newline}{step * (depth - 1)}{text[closing:]}"


def _step(text: str) -> str:
    """The indentation of the first line that has one."""
    for line in text.split("\n"):
        if line.strip() and line[0] in " \t":
            return line[: len(line) - len(line.lstrip())]
    return "  "
