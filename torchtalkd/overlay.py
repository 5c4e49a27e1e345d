"""A text that is not in the tree: what an editor holds, in place of a file's rows.

An *overlay* is what such a text says. It is either one reading of the whole text, or such a
reading of an earlier state with a *patch*: the lines that have changed since, read again, and by how
much the lines behind them have moved. So a keystroke costs the reading of a few lines, wherever in
the file it is. `torchtalkd.parse.draft` makes overlays, `torchtalkd.store.overlaid` puts them over a
view. The tests are in `tests/test_overlay.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from torchtalkd.facts import FileFacts


class Patch(NamedTuple):
    """Lines that are read anew."""

    first: int
    """The first line, counted in the whole reading, that is replaced (1-based)."""
    last: int
    """The first line behind, counted likewise, that stays."""
    shift: int
    """By how many lines what stays behind has moved."""
    facts: FileFacts
    """Of the new lines; places are those in the new text."""


@dataclass(frozen=True, eq=False, slots=True)
class Overlay:
    """What a text says. Compared by identity: each state of the text has one of its own."""

    whole: FileFacts
    """A reading of the whole text, or of an earlier state of it."""
    patch: Patch | None = None
    kept: dict[str, Any] = field(default_factory=dict)
    """What readers of `whole` derive from it: shared by all overlays with the same one."""

    @property
    def path(self) -> str:
        """From the root."""
        return self.whole.path

    def moved(self, line: int) -> int:
        """Where a line of the whole reading is now; 0 where it is replaced."""
        patch = self.patch
        if patch is None or line < patch.first:
            return line
        return line + patch.shift if line >= patch.last else 0
