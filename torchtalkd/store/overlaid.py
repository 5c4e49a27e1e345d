"""A view with texts of an editor in place of some files' rows.

It answers what the `View` below it answers, but for the files that an overlay covers: none of
their rows is seen, and the overlays' facts are. Nothing of it reaches the store. What queries
derive is kept apart from the view below, for it may depend on the overlays. The tests are in
`tests/test_overlay.py`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from torchtalkd.facts import File, FiledDefinition, FiledReference, Problem
from torchtalkd.overlay import Overlay
from torchtalkd.store import rows
from torchtalkd.store.laid import FRESH, Index, Laid, on_line
from torchtalkd.store.sites import within
from torchtalkd.store.view import View

_UNSAVED: Final = 1 << 40
"""Ids of files that the store does not have begin here."""

SHARED: Final = {
    "nodes": ("derivative",),
    "library_uses": ("macro_use", "macro", "library"),
    "function_templates": ("macro",),
    "targets": ("module",),
    "by_package": ("module",),
}
"""What `link` keeps with a view, and the kinds of definitions that it is derived from alone: it stays
true under an overlay that has none of them, and is too much to derive anew for each keystroke."""
MOST_KEPT: Final = 4
"""Combinations of unsaved texts whose view is kept: one for each editor that asks by turns."""


def overlaid(view: View, overlays: Sequence[Overlay]) -> View:
    """The view with an editor's texts in place of some files' rows; itself without any. Of use
    while that view is open; the last ones are kept with it."""
    if not overlays:
        return view
    known: dict[tuple[Overlay, ...], View] = view.kept.setdefault("overlaid", {})
    wanted = tuple(overlays)
    found = known.pop(wanted, None) or Overlaid(view, wanted)
    while len(known) >= MOST_KEPT:
        known.pop(next(iter(known)))
    known[wanted] = found
    return found


class Overlaid(View):
    """See the module."""

    def __init__(self, below: View, overlays: Sequence[Overlay]) -> None:
        """`below` must stay open for as long as this is asked."""
        self._below = below
        self.rules, self.revision, self._meta = below.rules, below.revision, below._meta
        self.kept: dict[str, Any] = {}
        self.kept_of_names: dict[tuple[str, str], Any] = {}
        self._laid: dict[int, Laid] = {}
        self._paths: dict[str, Laid] = {}
        for number, overlay in enumerate(overlays):
            whole = overlay.whole
            file = below.file(overlay.path) or File(
                _UNSAVED + number, overlay.path, whole.language, whole.role, ""
            )
            laid = Laid(overlay, file)
            self._laid[file.id] = self._paths[overlay.path] = laid
        self._hidden = frozenset(self._laid)
        self.kept.update(self._still_true(below.kept))
        by_what = {what: (space, what) for space, what in below.kept_of_definitions}
        shared = self._still_true({what: below.kept_of_definitions[asked] for what, asked in by_what.items()})
        self.kept_of_definitions = {by_what[what]: value for what, value in shared.items()}
        self._definitions = {}
        self._gone: dict[int, frozenset[str]] = {}

    def _still_true(self, kept: dict[str, Any]) -> dict[str, Any]:
        """What of the view below no overlay changes."""
        return {
            name: kept[name]
            for name, kinds in SHARED.items()
            if name in kept and not any(self._has_kind(number, kinds) for number in self._hidden)
        }

    def _has_kind(self, number: int, kinds: tuple[str, ...]) -> bool:
        """Whether an overlay, or the file that it hides, has a definition of some kinds."""
        own = any(kind in index.by_kind for index in self._laid[number].parts for kind in kinds)
        return own or any(kind in self._kinds_below(number) for kind in kinds)

    def close(self) -> None:
        """The view below is somebody else's."""

    def interrupt(self) -> None:
        """As `View.interrupt`."""
        self._below.interrupt()

    def repin(self) -> bool:
        """As `View.repin`."""
        return self._below.repin()

    def stats(self, paths: Iterable[str] | None = None) -> dict[str, tuple[int, ...]]:
        """As `View.stats`: of the files, whatever an editor holds of them."""
        return self._below.stats(paths)

    # -- about the index itself, which no overlay changes

    def meta(self, name: str, default: str = "") -> str:
        """As `View.meta`."""
        return self._below.meta(name, default)

    def counts(self) -> dict[str, int]:
        """As `View.counts`."""
        return self._below.counts()

    def problems(self, limit: int = 1000) -> list[tuple[str, Problem]]:
        """As `View.problems`."""
        return self._below.problems(limit)

    def problems_of_languages(self, languages: Iterable[str]) -> list[tuple[str, Problem]]:
        """As `View.problems_of_languages`."""
        return self._below.problems_of_languages(languages)

    # -- files

    def files(self) -> list[File]:
        """As `View.files`."""
        new = [laid.file for laid in self._laid.values() if laid.file.id >= _UNSAVED]
        return sorted([*self._below.files(), *new], key=lambda file: file.path)

    def file(self, path: str) -> File | None:
        """As `View.file`."""
        laid = self._paths.get(path)
        return laid.file if laid is not None else self._below.file(path)

    def file_of(self, fact_id: int) -> File:
        """As `View.file_of`."""
        laid = self._laid.get(fact_id >> rows.ID_BITS)
        return laid.file if laid is not None else self._below.file_of(fact_id)

    # -- definitions

    def definitions(self, key: str) -> list[FiledDefinition]:
        """As `View.definitions`."""
        found = self._definitions.get(key)
        if found is None:
            found = self._definitions[key] = self._mixed(
                self._below.definitions(key), lambda index: index.by_key.get(key, ())
            )
        return found

    def named(self, key: str, name: str) -> list[FiledDefinition]:
        """As `View.named`."""
        mixed = self._mixed(self._below.named(key, name), lambda index: index.by_key.get(key, ()))
        return [d for d in mixed if d.fact.name == name]

    def of_kind(self, key: str, kind: str) -> list[FiledDefinition]:
        """As `View.of_kind`."""
        mixed = self._mixed(self._below.of_kind(key, kind), lambda index: index.by_key.get(key, ()))
        return [d for d in mixed if d.fact.kind == kind]

    def definition(self, definition_id: int) -> FiledDefinition | None:
        """As `View.definition`."""
        laid = self._laid.get(definition_id >> rows.ID_BITS)
        if laid is not None:
            return laid.definition(definition_id & rows.LAST_ORDINAL)
        return self._below.definition(definition_id)

    def count(self, key: str, enough: int = 64) -> int:
        """As `View.count`."""
        touched = any(key in index.by_key for laid in self._laid.values() for index in laid.parts) or any(
            key in self._keys_below(number) for number in self._hidden
        )
        return len(self.definitions(key)) if touched else self._below.count(key, enough)

    def definitions_in(self, file: File) -> list[FiledDefinition]:
        """As `View.definitions_in`."""
        laid = self._laid.get(file.id)
        return laid.all() if laid is not None else self._below.definitions_in(file)

    def definitions_on(self, file: File, line: int) -> list[FiledDefinition]:
        """As `View.definitions_on`."""
        laid = self._laid.get(file.id)
        return self._below.definitions_on(file, line) if laid is None else laid.on(line)

    def definitions_of_kind(self, kind: str) -> list[FiledDefinition]:
        """As `View.definitions_of_kind`."""
        return self._mixed(self._below.definitions_of_kind(kind), lambda index: index.by_kind.get(kind, ()))

    def keys_of_kind(self, kind: str) -> frozenset[str]:
        """As `View.keys_of_kind`."""
        ours = {
            d.fact.key
            for laid in self._laid.values()
            for d in laid.definitions(lambda index: index.by_kind.get(kind, ()))
        }
        theirs = {key for number in self._hidden for key in self._kinds_below(number).get(kind, ())}
        gone = {
            key
            for key in theirs - ours
            if not any(d.file.id not in self._hidden for d in self._below.of_kind(key, kind))
        }
        return (self._below.keys_of_kind(kind) - gone) | ours

    def scope(self, definition: FiledDefinition) -> FiledDefinition | None:
        """As `View.scope`."""
        if definition.fact.scope < 0:
            return None
        return self.definition(definition.file.id << rows.ID_BITS | definition.fact.scope)

    def search(self, text: str, kinds: Iterable[str], limit: int) -> list[FiledDefinition]:
        """As `View.search`."""
        wanted, folded = tuple(kinds), text.casefold()
        found = [
            *self._shown(self._below.search(text, wanted, limit)),
            *(
                d
                for laid in self._laid.values()
                for kind in wanted
                for d in laid.definitions(lambda index, kind=kind: index.by_kind.get(kind, ()))  # type: ignore[misc]
                if folded in d.fact.name.casefold()
            ),
        ]
        found.sort(key=lambda d: (len(d.fact.name), d.fact.name, d.id))
        return found[:limit]

    def keys(self, space: str, begin: str = "") -> list[str]:
        """As `View.keys`."""
        known = self._below.keys(space, begin)
        first = f"{space}:{begin}"
        ours = {key for laid in self._laid.values() for index in laid.parts for key in index.by_key}
        theirs = {key for number in self._hidden for key in self._keys_below(number)}
        changed = [key for key in ours | theirs if key.startswith(first)]
        moved = [key for key in changed if bool(self.definitions(key)) != _has(known, key)]
        if not moved:
            return known
        return sorted(set(known).symmetric_difference(moved))

    def library_uses(self) -> list[FiledDefinition]:
        """As `View.library_uses`."""
        mixed = self._mixed(self._below.library_uses(), lambda index: index.by_kind.get("macro_use", ()))
        return [d for d in mixed if (d.fact.detail or {}).get("library")]

    def making_macros(self) -> list[FiledDefinition]:
        """As `View.making_macros`."""
        mixed = self._mixed(self._below.making_macros(), lambda index: index.by_kind.get("macro", ()))
        return [d for d in mixed if (d.fact.detail or {}).get("makes")]

    def dispatch_keys(self) -> frozenset[str]:
        """As `View.dispatch_keys`; those of a file's last text count, too."""
        ours = {d.fact.dispatch_key for laid in self._laid.values() for d in laid.all()}
        return self._below.dispatch_keys() | (ours - {""})

    # -- references

    def targets(self, binding: FiledDefinition) -> list[FiledReference]:
        """As `View.targets`."""
        laid = self._laid.get(binding.file.id)
        if laid is None:
            return self._below.targets(binding)
        part, ordinal = divmod(binding.id & rows.LAST_ORDINAL, FRESH)
        index = laid.parts[part] if part < len(laid.parts) else None
        return laid.references(lambda other: index.of_owner.get(ordinal, ()) if other is index else ())

    def targeting(self, key: str) -> list[FiledReference]:
        """As `View.targeting`."""
        return self._referring(self._below.targeting(key), lambda index: index.targets.get(key, ()))

    def references(self, key: str) -> list[FiledReference]:
        """As `View.references`."""
        return self._referring(self._below.references(key), lambda index: index.references.get(key, ()))

    def references_with(self, key: str, kind: str) -> list[FiledReference]:
        """As `View.references_with`."""

        def of_kind(index: Index) -> Iterable[int]:
            with_key = index.references.get(key, ()) if key else index.plain
            return (n for n in with_key if index.facts.references[n].kind == kind)

        return self._referring(self._below.references_with(key, kind), of_kind)

    def named_like(self, names: Iterable[str], begins: Iterable[str]) -> list[FiledReference]:
        """As `View.named_like`."""
        exact, beginnings = frozenset(names), tuple(begins)

        def like(name: str) -> bool:
            return name in exact or name.startswith(beginnings)

        def plain(index: Index) -> Iterable[int]:
            return (n for n in index.plain if like(index.facts.references[n].name))

        def importing(index: Index) -> Iterable[int]:
            for ordinal, numbers in index.of_owner.items():
                if (index.facts.definitions[ordinal].detail or {}).get("import"):
                    yield from (n for n in numbers if like(index.facts.references[n].name))

        below = [r for r in self._below.named_like(exact, beginnings) if r.file.id not in self._hidden]
        ours = [
            r for laid in self._laid.values() for r in (*laid.references(plain), *laid.references(importing))
        ]
        return below + ours

    def references_in(self, file: File) -> list[FiledReference]:
        """As `View.references_in`."""
        laid = self._laid.get(file.id)
        return self._below.references_in(file) if laid is None else laid.references(lambda index: index.plain)

    def references_on(self, file: File, line: int) -> list[FiledReference]:
        """As `View.references_on`."""
        laid = self._laid.get(file.id)
        if laid is None:
            return self._below.references_on(file, line)
        return [r for r in laid.references(on_line(laid, line)) if r.fact.line == line]

    def references_of_kind(self, file: File, kind: str) -> list[FiledReference]:
        """As `View.references_of_kind`."""
        laid = self._laid.get(file.id)
        if laid is None:
            return self._below.references_of_kind(file, kind)
        return laid.references(
            lambda index: (n for n in index.plain if index.facts.references[n].kind == kind)
        )

    def inside(self, definition: FiledDefinition) -> list[FiledReference]:
        """As `View.inside`."""
        laid = self._laid.get(definition.file.id)
        if laid is None:
            return self._below.inside(definition)
        base = laid.file.id << rows.ID_BITS
        scopes = {d.id: base | d.fact.scope if d.fact.scope >= 0 else -1 for d in laid.all()}
        belongs = {definition.id: True, -1: False}
        first, last = definition.fact.line, definition.fact.end_line

        def near(index: Index) -> Iterable[int]:
            shift = (
                0 if index is not laid.parts[0] or laid.overlay.patch is None else laid.overlay.patch.shift
            )
            low, high = min(first, first - shift), max(last, last - shift)
            return (n for n in index.plain if low <= index.facts.references[n].line <= high)

        found = laid.references(near)
        return [r for r in found if first <= r.fact.line <= last and within(r.owner, belongs, scopes)]

    # -- helpers

    @property
    def _source(self) -> View:
        return self._below

    def _with_key(self, number: int, key: str) -> list[FiledDefinition]:
        if number not in self._hidden:
            return self._below._with_key(number, key)
        return [d for d in self.definitions(key) if d.file.id == number]

    def _shown(self, found: list[FiledDefinition]) -> list[FiledDefinition]:
        if not any(d.file.id in self._hidden for d in found):
            return found
        return [d for d in found if d.file.id not in self._hidden]

    def _mixed(
        self, below: list[FiledDefinition], choose: Callable[[Index], Iterable[int]]
    ) -> list[FiledDefinition]:
        shown = self._shown(below)
        ours = [d for laid in self._laid.values() for d in laid.definitions(choose)]
        return [*shown, *ours] if ours else shown

    def _referring(
        self, below: list[FiledReference], choose: Callable[[Index], Iterable[int]]
    ) -> list[FiledReference]:
        ours = [r for laid in self._laid.values() for r in laid.references(choose)]
        hidden = any(r.file.id in self._hidden for r in below)
        shown = [r for r in below if r.file.id not in self._hidden] if hidden else below
        return [*shown, *ours] if ours else shown

    def _rows_below(self, number: int) -> list[FiledDefinition]:
        return self._below.definitions_in(self._laid[number].file) if number < _UNSAVED else []

    def _keys_below(self, number: int) -> frozenset[str]:
        found = self._gone.get(number)
        if found is None:
            kinds = self._kinds_below(number)
            found = self._gone[number] = frozenset(key for keys in kinds.values() for key in keys)
        return found

    def _kinds_below(self, number: int) -> dict[str, set[str]]:
        """The keys that a hidden file's rows have, by kind. Kept with the view below."""
        files: dict[int, dict[str, set[str]]] = self._below.kept.setdefault("kinds_of_files", {})
        found = files.get(number)
        if found is None:
            found = files[number] = {}
            for definition in self._rows_below(number):
                found.setdefault(definition.fact.kind, set()).add(definition.fact.key)
        return found


def _has(ordered: list[str], key: str) -> bool:
    at = bisect_left(ordered, key)
    return at < len(ordered) and ordered[at] == key
