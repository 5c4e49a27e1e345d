"""What link wants to know of the facts: the questions that it may ask of a view.

A protocol, so that link knows no store: `torchtalkd.store.view.View` satisfies it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

from torchtalkd.facts import File, FiledDefinition, FiledReference, Rules

Evidence: TypeAlias = Literal["exact", "declared", "unique", "candidate"]
"""How sure a link is, surest first. exact: a compiler said so, or the name is the definition's
own; declared: a yaml entry or a registration names it and only it fits; unique: the one
definition that the look-up finds; candidate: one of several."""


class Facts(Protocol):
    """The facts of one revision. Each method is that of `torchtalkd.store.view.View`."""

    rules: Rules
    kept: dict[str, Any]
    kept_of_definitions: dict[tuple[str, str], Any]

    def definitions(self, key: str) -> Sequence[FiledDefinition]:
        """All definitions and declarations with a key."""

    def named(self, key: str, name: str) -> Sequence[FiledDefinition]:
        """Those with exactly this full name."""

    def of_kind(self, key: str, kind: str) -> Sequence[FiledDefinition]:
        """Those of a kind."""

    def definition(self, definition_id: int) -> FiledDefinition | None:
        """The definition with an id."""

    def definitions_in(self, file: File) -> Sequence[FiledDefinition]:
        """All definitions of a file."""

    def names_in(self, file: File, kinds: Collection[str]) -> Sequence[tuple[int, str]]:
        """Line and full name of each definition of some kinds in a file."""

    def definitions_of_kind(self, kind: str) -> Sequence[FiledDefinition]:
        """All definitions of a kind."""

    def uses_in_libraries(self) -> Iterator[Sequence[FiledDefinition]]:
        """Those of `library_uses`, in pieces."""

    def macros_that_make(self) -> Iterator[Sequence[FiledDefinition]]:
        """Those of `making_macros`, in pieces."""

    def include_lines_in_pieces(self) -> Iterator[Sequence[tuple[int, str]]]:
        """Those of `include_lines`, in pieces."""

    def library_uses(self) -> Sequence[FiledDefinition]:
        """The macro uses that stand in a library block."""

    def making_macros(self) -> Sequence[FiledDefinition]:
        """The macros that make definitions in the files that use them."""
        ...

    def keys(self, space: str) -> Sequence[str]:
        """All keys of a space that something is defined under."""

    def keys_of_kind(self, kind: str) -> frozenset[str]:
        """All keys that a definition of a kind has."""

    def scope(self, definition: FiledDefinition) -> FiledDefinition | None:
        """The definition around another."""

    def count(self, key: str, enough: int = 64) -> int:
        """How many definitions have a key, counted no further than `enough`."""

    def targets(self, binding: FiledDefinition) -> Sequence[FiledReference]:
        """What a binding refers to."""

    def targeting(self, key: str) -> Sequence[FiledReference]:
        """The targets with a key; `owner` is the binding's id."""

    def references(self, key: str) -> Sequence[FiledReference]:
        """All references with a key that are no targets."""

    def references_with(self, key: str, kind: str) -> Sequence[FiledReference]:
        """Those of one kind; of any key where it is ''."""

    def inside(self, definition: FiledDefinition) -> Sequence[FiledReference]:
        """The references in a definition's body."""

    def references_of_kind(self, file: File, kind: str) -> Sequence[FiledReference]:
        """The references of one kind in a file."""

    def files(self) -> Sequence[File]:
        """All files."""

    def include_lines(self) -> Sequence[tuple[int, str]]:
        """The id of each file that includes something, with what it includes as written."""


class Link(NamedTuple):
    """A definition that a name may mean."""

    definition: FiledDefinition
    evidence: Evidence
