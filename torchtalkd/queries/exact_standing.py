"""status: how much of the C++ a compiler has read, and what it could not."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Final

from torchtalkd.store.view import View

MOST_HEADERS: Final = 12
MOST_FILES: Final = 15


@dataclass(frozen=True, slots=True)
class ExactStanding:
    """The exact reading, as the index has it. Files are translation units, and headers with inline bodies."""

    read: int
    """Whose reading is true of the texts as they are now."""
    total: int
    pending: int
    off: str = ""
    """Why nothing is read exactly, a sentence; '' where it is."""
    notes: tuple[str, ...] = ()
    resolved: int = 0
    """Calls whose target is known."""
    unresolved: int = 0
    """Calls that have none, for an error or a missing header."""
    dependent: int = 0
    """Calls that depend on a template's parameters: by name alone."""
    missing: tuple[tuple[str, int], ...] = ()
    """Headers that were not found, and how many units wanted them, the most wanted first."""
    with_errors: int = 0
    """Units with an error although they lack no header."""
    error_samples: tuple[tuple[str, str], ...] = ()
    """Some of these: file, and the first error."""
    failed: tuple[tuple[str, str], ...] = ()
    """Files that gave nothing, and why: a crash, or too much time."""


def exact_standing(view: View) -> ExactStanding | None:
    """What the index says; None where nothing was to be read exactly yet."""
    share = view.exact_share()
    off = view.meta("exact_off")
    if not share.total and not off:
        return None
    sums: Counter[str] = Counter()
    missing: Counter[str] = Counter()
    errors: list[tuple[str, str]] = []
    failed: list[tuple[str, str]] = []
    for path, counts in view.exact_counts():
        sums.update({name: counts[name] for name in ("resolved", "unresolved", "dependent")})
        if not counts["header"]:
            missing.update(counts["missing"])
            if counts["errors"] and not counts["missing"]:
                file, line, message = counts["errors"][0]
                errors.append((path, f"{file}:{line} {message}"))
        if counts["failed"]:
            failed.append((path, counts["failed"]))
    said = view.meta("exact_notes")
    return ExactStanding(
        *share,
        off=off,
        notes=tuple(said.splitlines()),
        resolved=sums["resolved"],
        unresolved=sums["unresolved"],
        dependent=sums["dependent"],
        missing=tuple(sorted(missing.items(), key=lambda one: (-one[1], one[0]))[:MOST_HEADERS]),
        with_errors=len(errors),
        error_samples=tuple(errors[:MOST_FILES]),
        failed=tuple(failed[:MOST_FILES]),
    )
