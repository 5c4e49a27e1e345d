"""What CMake files say about which sources become which module.

Commands are read one after the other with the variables known so far; what an `if` holds is added,
not replaced, as any branch may be the one that is built. A target is a call of one of the
manifest's `targets.commands` (add_library, pybind11_add_module, …), or of any function of the
project's own that is given SOURCES: its first argument is the name. A variable that no line of
this file sets is `*` in a path. https://cmake.org/cmake/help/latest/manual/cmake-language.7.html
describes the language; generator expressions are taken for their last word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from torchtalkd.conventions.values import Conventions, Targets
from torchtalkd.facts import FileFacts, Problem
from torchtalkd.parse.target_facts import TargetFacts, add_target

_COMMAND = re.compile(r"(?m)^[ \t]*([A-Za-z_]\w*)[ \t]*\(")
_TOKEN = re.compile(
    r"#\[(?P<mark>=*)\[.*?\](?P=mark)\]|#[^\n]*|\[(?P<level>=*)\[(?P<raw>.*?)\](?P=level)\]"
    r'|"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<open>\()|(?P<close>\))|(?P<bare>(?:\$<[^<>]*>|[^\s()#"\\]|\\.)+)',
    re.DOTALL,
)
_BRACKET_COMMENT = re.compile(r"#\[(=*)\[.*?\]\1\]", re.DOTALL)
_VARIABLE = re.compile(r"\$(?:ENV|CACHE)?\{([\w.+/-]*)\}")
_KEYWORD = re.compile(r"[A-Z][A-Z0-9_]+$")
_DEFINE = re.compile(r"(?:-D)?([A-Za-z_]\w*)(?:=(.*))?$", re.DOTALL)
_LIBRARY_WORDS: Final = frozenset(
    {
        "SHARED",
        "STATIC",
        "MODULE",
        "OBJECT",
        "INTERFACE",
        "UNKNOWN",
        "EXCLUDE_FROM_ALL",
        "WITH_SOABI",
        "USE_SABI",
    }
    | {
        "THIN_LTO",
        "NO_EXTRAS",
        "OPT_SIZE",
        "LTO",
        "SYSTEM",
        "STABLE_ABI",
        "FREE_THREADED",
        "NB_STATIC",
        "NB_SHARED",
    }
)
"""Words between a target's name and its sources."""
_FOLDERS: Final = (
    "CMAKE_CURRENT_SOURCE_DIR",
    "CMAKE_CURRENT_LIST_DIR",
    "CMAKE_SOURCE_DIR",
    "PROJECT_SOURCE_DIR",
)
_MOST: Final = 4000
"""Words of one list."""


class Command(NamedTuple):
    """One call."""

    name: str
    """In lower case: commands know no case."""
    arguments: tuple[str, ...]
    offset: int
    end: int


class _Made(NamedTuple):
    """A target met on the way; what is said of it later is added."""

    name: str
    command: Command
    form: str
    sources: list[str]
    defines: dict[str, str]
    folder: str
    """Where the module is installed, as a dotted prefix; '' if unknown."""


def parse_cmake(path: str, data: bytes, conventions: Conventions, language: str, role: str) -> FileFacts:
    """The targets of one CMake file. Never raises for any bytes."""
    text = data.decode("utf-8", "replace")
    if "\0" in text[:8192]:
        return FileFacts(path, language, role, problems=(Problem(0, "binary", "not text: it has NUL bytes"),))
    made = _Reading(conventions.targets).read(text)
    found = TargetFacts()
    starts = [0, *(match.end() for match in re.finditer("\n", text))] if made else []
    for target in made:
        line = sum(1 for start in starts if start <= target.command.offset)
        end_line = sum(1 for start in starts if start <= target.command.end)
        column = len(text[starts[line - 1] : target.command.offset].encode("utf-8", "replace"))
        name = f"{target.folder}.{target.name}" if target.folder else target.name
        if target.sources or target.defines:
            add_target(found, name, line, column, end_line, target.form, target.sources, target.defines)
    return FileFacts(path, language, role, tuple(found.definitions), tuple(found.references))


def commands(text: str) -> Iterator[Command]:
    """The calls of a CMake text, in order. A parenthesis that is never closed ends the file."""
    text = _BRACKET_COMMENT.sub(lambda comment: re.sub(r"[^\n]", " ", comment[0]), text)
    position = 0
    while match := _COMMAND.search(text, position):
        before = text[text.rfind("\n", 0, match.start()) + 1 : match.start()]
        arguments: list[str] = []
        depth, position = 1, match.end()
        while depth:
            token = _TOKEN.search(text, position)
            if token is None:
                return
            position = token.end()
            if token["open"]:
                depth += 1
            elif token["close"]:
                depth -= 1
            elif token["quoted"] is not None:
                arguments.append(token["quoted"])
            elif token["raw"] is not None:
                arguments.append(token["raw"])
            elif token["bare"] is not None:
                arguments.append(token["bare"])
        if "#" not in before:
            yield Command(match[1].lower(), tuple(arguments), match.start(1), position)


class _Reading:
    """One pass over the commands of a file."""

    def __init__(self, targets: Targets) -> None:
        self._commands = frozenset(name.lower() for name in targets.commands)
        self._variables: dict[str, list[str]] = {name: [""] for name in _FOLDERS}
        self._branches = 0
        self._inside = ""
        self._targets: dict[str, _Made] = {}
        self._all: list[_Made] = []
        self._defines: dict[str, str] = {}
        """What is defined for all targets of the file."""

    def read(self, text: str) -> list[_Made]:
        """The targets, in the order of the text."""
        for command in commands(text):
            self._one(command)
        for made in self._all:
            if made.sources:
                # Whether the target was made before or after: CMake takes the folder's properties at the end.
                made.defines.update({**self._defines, **made.defines})
        return self._all

    def _one(self, command: Command) -> None:
        name = command.name
        if self._inside:
            # A function's body says what its callers' arguments decide; the calls say which these are.
            if name == f"end{self._inside}":
                self._inside = ""
            return
        if name in ("function", "macro"):
            self._inside = name
        elif name in ("if", "while"):
            self._branches += 1
        elif name in ("endif", "endwhile"):
            self._branches = max(0, self._branches - 1)
        elif name == "foreach" and command.arguments:
            words = [w for w in self._words(command.arguments[1:]) if w not in ("IN", "LISTS", "ITEMS")]
            lists = [v for w in words for v in self._variables.get(w, [w])]
            self._variables[command.arguments[0]] = lists
        elif name == "project" and command.arguments:
            self._variables["PROJECT_NAME"] = self._words(command.arguments[:1])
        elif name in ("set", "list", "file"):
            self._assign(command)
        elif name in ("target_sources", "target_compile_definitions"):
            self._add(command)
        elif name in ("add_definitions", "add_compile_definitions"):
            self._defines.update(_defined(self._words(command.arguments)))
        elif name == "set_target_properties":
            self._output_name(command)
        else:
            self._target(command)

    # -- variables

    def _assign(self, command: Command) -> None:
        arguments = command.arguments
        if command.name == "set" and arguments:
            words = list(arguments[1:])
            for word in ("CACHE", "PARENT_SCOPE"):
                if word in words:
                    del words[words.index(word) :]
            self._set(arguments[0], self._words(words), self._branches > 0)
        elif (
            command.name == "list" and len(arguments) > 2 and arguments[0] in ("APPEND", "PREPEND", "INSERT")
        ):
            self._set(arguments[1], self._words(arguments[2:]), True)
        elif command.name == "file" and len(arguments) > 2 and arguments[0].startswith("GLOB"):
            words = [
                word
                for word in self._words(arguments[2:])
                if word not in ("CONFIGURE_DEPENDS", "RELATIVE", "LIST_DIRECTORIES", "FOLLOW_SYMLINKS")
            ]
            if arguments[0] == "GLOB_RECURSE":
                words = [
                    f"{head}{slash}**/{last}" for head, slash, last in (w.rpartition("/") for w in words)
                ]
            self._set(arguments[1], words, self._branches > 0)

    def _set(self, name: str, words: list[str], adds: bool) -> None:
        known = self._variables.get(name, []) if adds else []
        self._variables[name] = list(dict.fromkeys((*known, *words)))[:_MOST]

    def _words(self, arguments: tuple[str, ...] | list[str]) -> list[str]:
        """The arguments with their variables' values in place; lists come apart at semicolons."""
        found: list[str] = []
        for argument in arguments:
            for word in self._expanded(argument, 0):
                found.extend(part for part in word.split(";") if part)
        return list(dict.fromkeys(found))[:_MOST]

    def _expanded(self, text: str, depth: int) -> list[str]:
        if text.startswith("$<"):
            text = text.rstrip(">").rpartition(":")[2]
        match = _VARIABLE.search(text)
        if match is None or depth > 8:
            return [text]
        values = self._variables.get(match[1])
        if values is None:
            whole = match[0] == text
            values = [] if whole else ["*"]
        before, after = text[: match.start()], text[match.end() :]
        if before == "" and after.startswith("/"):
            # `${CMAKE_CURRENT_SOURCE_DIR}/a.cpp`: the folder itself is no part of the path.
            joined = [value + after if value else after[1:] for value in values]
        else:
            joined = [f"{before}{value}{after}" for value in values]
        found: list[str] = []
        for one in joined:
            if len(found) >= _MOST:
                break
            found.extend(self._expanded(one, depth + 1))
        return found[:_MOST]

    # -- targets

    def _target(self, command: Command) -> None:
        words = list(command.arguments)
        own = "SOURCES" in words
        if (command.name not in self._commands and not own) or not words:
            return
        names = self._words(words[:1])
        for name in names[:8]:
            folder = ""
            if own:
                sources = self._section(words, "SOURCES")
                destination = self._section(words, "DESTINATION")
                folder = destination[0].strip("/").replace("/", ".") if destination else ""
            else:
                sources = [word for word in self._words(words[1:]) if word not in _LIBRARY_WORDS]
            if not re.fullmatch(r"[\w.*-]+", name) or (folder and not re.fullmatch(r"\w+(?:\.\w+)*", folder)):
                folder = ""
            made = _Made(name, command, command.name, sources, {}, folder)
            self._targets[name] = made
            self._all.append(made)

    def _section(self, words: list[str], keyword: str) -> list[str]:
        """The values behind a keyword, up to the next one; all of several."""
        found: list[str] = []
        taking = False
        for word in words:
            if word == keyword:
                taking = True
            elif _KEYWORD.match(word):
                taking = False
            elif taking:
                found.extend(self._words([word]))
        return found

    def _add(self, command: Command) -> None:
        words = [
            word for word in self._words(command.arguments) if word not in ("PRIVATE", "PUBLIC", "INTERFACE")
        ]
        made = self._targets.get(words[0]) if words else None
        if made is None:
            return
        if command.name == "target_sources":
            made.sources.extend(words[1:])
            return
        made.defines.update(_defined(words[1:]))

    def _output_name(self, command: Command) -> None:
        """`set_target_properties(t PROPERTIES OUTPUT_NAME _C)`: the module is called otherwise."""
        words = self._words(command.arguments)
        if "OUTPUT_NAME" not in words or "PROPERTIES" not in words:
            return
        at = words.index("OUTPUT_NAME")
        for name in words[: words.index("PROPERTIES")]:
            made = self._targets.get(name)
            if made is not None and at + 1 < len(words):
                self._all[self._all.index(made)] = self._targets[name] = made._replace(name=words[at + 1])


def _defined(words: list[str]) -> dict[str, str]:
    """The macros that a list of definitions makes, `-DNAME=value` or `NAME=value`, with their values."""
    found = (_DEFINE.match(word) for word in words)
    return {match[1]: (match[2] or "").strip('"') for match in found if match}
