"""One overlay as the rows of a file: what `store.overlaid` mixes with those of a view.

Ordinals of the whole reading stay what they are; those of a patch's facts begin far behind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from torchtalkd.facts import BINDING_KINDS, File, FiledDefinition, FiledReference, FileFacts
from torchtalkd.overlay import Overlay
from torchtalkd.store import rows

FRESH: Final = 1 << 19
"""Ordinals of a patch's facts begin here; no file has half as many facts."""


class Index:
    """The facts of one reading by what they are asked for. Ordinals are positions in the reading."""

    def __init__(self, facts: FileFacts) -> None:
        self.facts = facts
        self.by_key: dict[str, list[int]] = {}
        self.by_kind: dict[str, list[int]] = {}
        self.by_line: dict[int, list[int]] = {}
        for ordinal, definition in enumerate(facts.definitions):
            self.by_key.setdefault(definition.key, []).append(ordinal)
            self.by_kind.setdefault(definition.kind, []).append(ordinal)
            self.by_line.setdefault(definition.line, []).append(ordinal)
        self.references: dict[str, list[int]] = {}
        self.targets: dict[str, list[int]] = {}
        self.of_owner: dict[int, list[int]] = {}
        kinds = [definition.kind in BINDING_KINDS for definition in facts.definitions]
        for number, reference in enumerate(facts.references):
            owner = reference.owner
            if owner >= 0 and kinds[owner] and reference.kind in ("target", "argument"):
                self.targets.setdefault(reference.key, []).append(number)
                self.of_owner.setdefault(owner, []).append(number)
            else:
                self.references.setdefault(reference.key, []).append(number)
        self.plain = [number for found in self.references.values() for number in found]


class Laid:
    """One overlay as rows of a file."""

    def __init__(self, overlay: Overlay, file: File) -> None:
        self.overlay, self.file = overlay, file
        index = overlay.kept.get("index")
        if index is None:
            index = overlay.kept["index"] = Index(overlay.whole)
        self.parts = [index]
        if overlay.patch is not None:
            self.parts.append(Index(overlay.patch.facts))
        self._definitions: dict[int, FiledDefinition | None] = {}
        self._around = -2

    def definition(self, ordinal: int) -> FiledDefinition | None:
        """The definition with an ordinal, None where its lines are replaced."""
        if ordinal not in self._definitions:
            self._definitions[ordinal] = self._made(ordinal)
        return self._definitions[ordinal]

    def _made(self, ordinal: int) -> FiledDefinition | None:
        number, patch = self.file.id << rows.ID_BITS | ordinal, self.overlay.patch
        if ordinal >= FRESH:
            if patch is None or ordinal - FRESH >= len(patch.facts.definitions):
                return None
            fact = patch.facts.definitions[ordinal - FRESH]
            scope = fact.scope + FRESH if fact.scope >= 0 else self._enclosing()
            return FiledDefinition(number, self.file, fact._replace(scope=scope))
        if ordinal >= len(self.overlay.whole.definitions):
            return None
        fact = self.overlay.whole.definitions[ordinal]
        if patch is not None and fact.line >= patch.first:
            if fact.line < patch.last:
                return None
            if patch.shift:
                fact = fact._replace(line=fact.line + patch.shift, end_line=fact.end_line + patch.shift)
        elif patch is not None and patch.shift and fact.end_line >= patch.first:
            fact = fact._replace(end_line=max(fact.line, fact.end_line + patch.shift))
        if fact.body and patch is not None and fact.line < patch.first <= fact.end_line:
            # Its lines are others than those that the digest is of.
            fact = fact._replace(body=0)
        return FiledDefinition(number, self.file, fact)

    def _enclosing(self) -> int:
        """The innermost definition of the whole reading around the patch."""
        if self._around == -2:
            self._around, patch = -1, self.overlay.patch
            for ordinal, fact in enumerate(self.overlay.whole.definitions if patch else ()):
                if patch and fact.line < patch.first and fact.end_line >= patch.last:
                    self._around = ordinal
        return self._around

    def definitions(self, choose: Callable[[Index], Iterable[int]]) -> list[FiledDefinition]:
        """Those that `choose` takes of each reading."""
        found = []
        for part, index in enumerate(self.parts):
            for ordinal in choose(index):
                definition = self.definition(ordinal + part * FRESH)
                if definition is not None:
                    found.append(definition)
        return found

    def all(self) -> list[FiledDefinition]:
        """All definitions, in the order of their ordinals."""
        return self.definitions(lambda index: range(len(index.facts.definitions)))

    def on(self, line: int) -> list[FiledDefinition]:
        """The definitions whose name stands on a line."""
        patch = self.overlay.patch
        lines = {line} if patch is None else {line, line - patch.shift}
        found = self.definitions(lambda index: (n for each in lines for n in index.by_line.get(each, ())))
        return [definition for definition in found if definition.fact.line == line]

    def references(self, choose: Callable[[Index], Iterable[int]]) -> list[FiledReference]:
        """The references that `choose` takes of each reading, in the order of the text."""
        found = []
        base, overlay = self.file.id << rows.ID_BITS, self.overlay
        for part, index in enumerate(self.parts):
            for number in choose(index):
                fact = index.facts.references[number]
                if part == 0:
                    line = overlay.moved(fact.line)
                    if not line:
                        continue
                    owner = fact.owner
                else:
                    line = fact.line
                    owner = fact.owner + FRESH if fact.owner >= 0 else self._enclosing()
                if line != fact.line or owner != fact.owner:
                    fact = fact._replace(line=line, owner=owner)
                found.append(FiledReference(self.file, fact, base | owner if owner >= 0 else -1))
        found.sort(key=lambda r: (r.fact.line, r.fact.column))
        return found


def on_line(laid: Laid, line: int) -> Callable[[Index], Iterable[int]]:
    """References that may stand on a line, by the line that it was in each reading."""
    patch = laid.overlay.patch
    lines = {line} if patch is None else {line, line - patch.shift}
    return lambda index: (n for n in index.plain if index.facts.references[n].line in lines)
