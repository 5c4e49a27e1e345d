"""The facts of a yaml file as they grow, entry by entry, and what all its entries share."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any, Final, NamedTuple

from torchtalkd.conventions.values import Conventions
from torchtalkd.facts import Definition, Problem, Reference
from torchtalkd.parse.yaml_entries import Entry, Node, Scalar, Text

_SCHEMA_BEGIN = re.compile(r"(?:[A-Za-z_]\w*::)*[A-Za-z_]\w*(?:\.\w+)?(?=\s*\()")
_SCHEMA_WHOLE = re.compile(r"[^()]*\(.*\)\s*->\s*\S.*", re.DOTALL)

LINES: Final = frozenset(("lines", "dispatch_lines"))
"""In the detail of a derivative: what holds lines of the file."""

MAX_FORMULA: Final = 20_000
"""Characters of a field's text that are searched for names."""


class Said(NamedTuple):
    """What one entry says, and where that was."""

    line: int
    """Index of its first line."""
    ordinal: int
    """Of its first definition."""
    definitions: list[Definition]
    references: list[Reference]
    problems: list[Problem]


class EntryFacts:
    """Collects one file's facts. Mutable; lives for one call of `parse_op_schema`."""

    def __init__(self, text: Text, conventions: Conventions) -> None:
        self.text = text
        self.conventions = conventions
        self.definitions: list[Definition] = []
        self.references: list[Reference] = []
        self.problems: list[Problem] = []

    def problem(self, line: int, message: str) -> None:
        """Notes something that could not be read as what it stands for."""
        self.problems.append(Problem(line, "syntax", message))

    def define(self, definition: Definition) -> int:
        """Adds a definition; its ordinal."""
        self.definitions.append(definition)
        return len(self.definitions) - 1

    def target(self, owner: int, key: str, name: str, place: tuple[int, int]) -> None:
        """Adds what a binding refers to."""
        self.references.append(Reference(key, name, "target", place[0], place[1], owner))

    def size(self) -> tuple[int, int, int]:
        """How many facts of each kind there are."""
        return len(self.definitions), len(self.references), len(self.problems)

    def since(self, begin: tuple[int, int, int], line: int) -> Said:
        """What was added after there were so many: all of an entry whose first line has an index."""
        definitions, references, problems = begin
        return Said(
            line,
            definitions,
            self.definitions[definitions:],
            self.references[references:],
            self.problems[problems:],
        )

    def say(self, said: Said, line: int) -> Said:
        """Adds what an entry with the same lines said elsewhere, as said here."""
        here = _moved(said, line, len(self.definitions))
        self.definitions.extend(here.definitions)
        self.references.extend(here.references)
        self.problems.extend(here.problems)
        return here

    def fields(self, entry: Entry, head: str, known: Collection[str]) -> dict[str, Node]:
        """An entry's fields by name.

        A field name that torchgen does not know (it refuses the file then) is kept and is a
        Problem. A field given twice (also refused there) is a Problem and the first counts.
        A second `head` means that the dash before it was lost: what follows it belongs to
        another operator and is left out.
        """
        found: dict[str, Node] = {}
        for key, node in entry.fields:
            name = key.value
            if name in found:
                self.problem(key.line, f"`{name}:` stands twice in one entry")
                if name == head:
                    break
                continue
            if known and name not in known:
                self.problem(key.line, f"unknown field `{name}:`")
            found[name] = node
        return found

    def schema_name(self, node: Node | None, entry: Entry, field: str) -> str:
        """The qualified operator name that a schema begins with, the operators' own namespace added.

        '' and a Problem, if there is none. A schema that is not whole is a Problem, but its
        name counts: it is the usual state of an entry that is being typed.
        """
        if not isinstance(node, Scalar):
            self.problem(entry.line, f"an entry needs a schema: `- {field}: name(…) -> …`")
            return ""
        begin = _SCHEMA_BEGIN.match(node.value)
        if begin is None:
            self.problem(node.line, f"not an operator's schema: {node.value[:80]!r}")
            return ""
        if not _SCHEMA_WHOLE.fullmatch(node.value):
            self.problem(node.line, f"the schema of {begin[0]} is not whole: `name(…) -> …`")
        return self.qualified(begin[0])

    def qualified(self, name: str) -> str:
        """`add.Tensor` → `aten::add.Tensor`."""
        return name if "::" in name else f"{self.conventions.rules.operator_namespace}::{name}"


def _moved(said: Said, line: int, ordinal: int) -> Said:
    down, further = line - said.line, ordinal - said.ordinal
    if not down and not further:
        return said
    # By position, as a native_functions.yaml has 20,000 of these: names would cost three times as much.
    return Said(
        line,
        ordinal,
        [
            Definition(
                *d[:3],
                d[3] + down,
                d[4],
                d[5] + down,
                d[6] + further if d[6] >= 0 else -1,
                *d[7:9],
                *d[9:13],
                _detail_moved(d[13], down) if d[13] and d[2] == "derivative" else d[13],
            )
            for d in said.definitions
        ],
        [
            Reference(*r[:3], r[3] + down, r[4], r[5] + further if r[5] >= 0 else -1, r[6])
            for r in said.references
        ],
        [problem._replace(line=problem.line + down) for problem in said.problems],
    )


def _detail_moved(detail: dict[str, Any], down: int) -> dict[str, Any]:
    moved = dict(detail)
    for name in LINES & detail.keys():
        moved[name] = _lines_moved(detail[name], down)
    return moved


def _lines_moved(lines: Any, down: int) -> Any:
    if isinstance(lines, dict):
        return {name: _lines_moved(inner, down) for name, inner in lines.items()}
    return lines + down


def field_line(entry: Entry, name: str) -> int:
    """The line of a field's name; the entry's own if it has no such field."""
    return next((key.line for key, _ in entry.fields if key.value == name), entry.line)
