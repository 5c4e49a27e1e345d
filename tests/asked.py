"""The fixed questions about a real tree (`tests/questions`): asked as an agent asks, and what it costs.

Tokens are counted as bytes of UTF-8 divided by four, which is what a tokenizer makes of code and paths within
some tens of per cent; both sides of a comparison are counted alike. What reading costs is counted twice:
the whole files that the facts stand in, and (much less than any agent does) only 100 lines around each fact,
as if it knew beforehand where to look and the search for it cost nothing.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

QUESTIONS = Path(__file__).parent / "questions"
AROUND = 100
"""Lines around a fact that are read, half of them before it."""
_PLACE = re.compile(r"(?P<path>[\w./+@-]+\.\w+)?:(?P<line>\d+)")

Call = Callable[..., str]


class Question(NamedTuple):
    """One question."""

    ask: str
    calls: tuple[tuple[str, dict[str, Any]], ...]
    places: tuple[tuple[str, int], ...]
    """Places of the right answer: file, line from 1."""
    names: tuple[str, ...]


class Cost(NamedTuple):
    """What a question took."""

    calls: int
    tokens: int
    files: int
    """Tokens of the whole files that the facts stand in."""
    around: int
    """Tokens of the lines around each fact."""
    missing: tuple[str, ...]
    """Facts that did not come back."""


def tokens(text: str | bytes) -> int:
    """How many tokens a text is taken for."""
    return -(-len(text.encode() if isinstance(text, str) else text) // 4)


def questions(tree: Path, name: str = "pytorch") -> Iterator[Question]:
    """The questions with their places as line numbers of a tree; a text that the tree has not is an error."""
    for raw in tomllib.loads((QUESTIONS / f"{name}.toml").read_text("utf-8"))["question"]:
        places = tuple((file, line_of(tree / file, text)) for file, text in raw.get("places", ()))
        yield Question(raw["ask"], tuple(map(_call, raw["calls"])), places, tuple(raw.get("names", ())))


def line_of(file: Path, text: str) -> int:
    """The first line that has a text, counted from 1."""
    for number, line in enumerate(file.read_text("utf-8").splitlines(), 1):
        if text in line:
            return number
    raise AssertionError(f"{file} has no line with {text!r}")


def asked(question: Question, tree: Path, call: Call) -> Cost:
    """Asks one question: `call(tool, **arguments)` gives a tool's text."""
    texts = [call(tool, **arguments) for tool, arguments in question.calls]
    found = {place for text in texts for place in places(text)}
    whole = "\n".join(texts)
    missing = [f"{file}:{line}" for file, line in question.places if (file, line) not in found]
    missing += [name for name in question.names if name not in whole]
    files = {file: (tree / file).read_bytes() for file, _ in question.places}
    # The call itself is the model's to write.
    spent = sum(tokens(f"{tool}{arguments}") for tool, arguments in question.calls)
    return Cost(
        len(texts),
        spent + tokens(whole),
        sum(map(tokens, files.values())),
        sum(tokens(part) for file in files for part in _around(files[file], file, question)),
        tuple(missing),
    )


def places(text: str) -> Iterator[tuple[str, int]]:
    """The places that an answer names; `:12` is a line of the file named last on its line, or else of the
    file that the answer is about."""
    about = ""
    for line in text.split("\n"):
        path = about
        for found in _PLACE.finditer(line):
            path = found["path"] or path
            about = about or path
            if path:
                yield path, int(found["line"])
                yield from ((whole, int(found["line"])) for whole in _named(text, path))


def _named(text: str, path: str) -> list[str]:
    """The whole paths of an answer that end in a bare file name."""
    if "/" in path:
        return []
    return list(dict.fromkeys(re.findall(rf"[\w./+@-]+/{re.escape(path)}\b", text)))


def _around(data: bytes, file: str, question: Question) -> Iterator[bytes]:
    lines = data.splitlines(keepends=True)
    wanted: set[int] = set()
    for where, line in question.places:
        if where == file:
            wanted.update(range(max(0, line - 1 - AROUND // 2), min(len(lines), line + AROUND // 2)))
    yield from (lines[number] for number in sorted(wanted))


def _call(written: str) -> tuple[str, dict[str, Any]]:
    node = ast.parse(written, mode="eval").body
    assert isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.args
    return node.func.id, {k.arg: ast.literal_eval(k.value) for k in node.keywords if k.arg}
