"""Names that a file gives itself, or takes from what it includes: macros, other names of namespaces."""

from __future__ import annotations

from collections.abc import Sequence

from torchtalkd import keys
from torchtalkd.facts import File, FiledDefinition
from torchtalkd.link import functions, includes
from torchtalkd.link.source import Facts


def macros_at(facts: Facts, key: str, file: File, line: int) -> list[FiledDefinition]:
    """The macros of a name that hold at a line: of the file's own the last one before it, or its variants
    under an #if each; else those of other files."""
    found = [d for d in facts.of_kind(key, "macro") if functions.visible(d, file)]
    own = [d for d in found if d.file.id == file.id]
    before = sorted((d for d in own if d.fact.line <= line), key=lambda d: d.fact.line)
    if before and not before[-1].fact.guard:
        return before[-1:]
    return before or own or found


def macros_in_sight(facts: Facts, key: str, file: File) -> list[FiledDefinition]:
    """The macros of a name in a file or in what it includes itself: a macro called like a function
    hides it there, and nowhere else."""
    if not facts.count(key, 1):
        return []
    found = [d for d in facts.of_kind(key, "macro") if d.file.role != "template"]
    return _nearest(facts, found, file)


def unaliased(facts: Facts, name: str, file: File) -> str:
    """A qualified name that begins with a namespace's other name, which its file or what that includes
    itself gives it, in full; '' for any other."""
    first, _, rest = functions.plain(name).partition("::")
    found = [d for d in facts.of_kind(keys.cpp(first), "alias") if d.fact.detail]
    own = _nearest(facts, found, file)
    return f"{(own[0].fact.detail or {})['namespace']}::{rest}" if own else ""


def _nearest(facts: Facts, found: Sequence[FiledDefinition], file: File) -> list[FiledDefinition]:
    """Those of the file itself, else of what it includes directly."""
    own = [d for d in found if d.file.id == file.id]
    if own or not found:
        return own
    written = [r.fact.name for r in facts.references_of_kind(file, "include")]
    return [d for d in found if any(includes.may_mean(w, file.path, d.file.path) for w in written)]
