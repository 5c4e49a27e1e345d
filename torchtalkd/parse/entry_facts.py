"""The facts of a yaml file as they grow, entry by entry, and what all its entries share."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from torchtalkd.conventions.values import Conventions
from torchtalkd.facts import Definition, Problem, Reference
from torchtalkd.parse.yaml_entries import Entry, Node, Scalar, Text

_SCHEMA_BEGIN = re.compile(r"(?:[A-Za-z_]\w*::)*[A-Za-z_]\w*(?:\.\w+)?(?=\s*\()")
_SCHEMA_WHOLE = re.compile(r"[^()]*\(.*\)\s*->\s*\S.*", re.DOTALL)

MAX_FORMULA: Final = 20_000
"""Characters of a field's text that are searched for names."""


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


def field_line(entry: Entry, name: str) -> int:
    """The line of a field's name; the entry's own if it has no such field."""
    return next((key.line for key, _ in entry.fields if key.value == name), entry.line)
