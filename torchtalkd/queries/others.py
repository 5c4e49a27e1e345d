"""Other roots that a question may look into: what it is given of them.

A question is about one root. Where its tree takes a name from another framework, or where it is asked of
all roots, it is given views of the others, each pinned to one revision. No question opens a root: who
asks it decides which there are (`torchtalkd.bases`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from torchtalkd.queries.answers import OtherStanding, standing
from torchtalkd.store.view import View


class Other(NamedTuple):
    """One other root."""

    root: str
    """Its folder, absolute."""
    view: View
    base: str = ""
    """Which framework of the asked root's `depends_on` it is; '' for a root that is no base of it."""


class Others(NamedTuple):
    """The other roots of one question."""

    roots: tuple[Other, ...] = ()
    all: bool = False
    """Whether the question is about all roots, not only the asked one and its bases."""
    names: tuple[str, ...] = ()
    """The harness of the asked root and those that it extends: who depends on one of these, depends on
    the asked root."""
    notes: tuple[str, ...] = ()
    """Sentences: which root would have been looked into, and why it was not."""
    unknown: tuple[str, ...] = ()
    """The frameworks of which no root is known."""

    def base(self, name: str) -> Other | None:
        """The root that is a framework of `depends_on`."""
        return next((other for other in self.roots if other.base == name), None)

    def standings(self) -> tuple[OtherStanding, ...]:
        """What the indexes of the other roots say of themselves."""
        return tuple(
            OtherStanding(
                other.root, other.view.rules.harness or other.view.meta("harness"), standing(other.view)
            )
            for other in self.roots
        )


NONE = Others()


def base_of(bases: Mapping[str, Mapping[str, tuple[str, ...]]], name: str) -> str:
    """The framework (of `rules.bases`) that a name belongs to by what that provides: `torch.matmul`,
    `at::empty`, `ATen/ATen.h`; '' for a name of no framework."""
    for base, provides in bases.items():
        if "/" in name:
            if name.startswith(tuple(provides.get("includes", ()))):
                return base
        elif "::" in name:
            if name.partition("::")[0] in provides.get("namespaces", ()):
                return base
        elif name.partition(".")[0] in provides.get("python", ()):
            return base
    return ""
