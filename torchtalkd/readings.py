"""What a compiler's reading of one file gives, before it is joined to anything.

`parse.exact` makes these, the engine joins them to the definitions of the same text and stores them, and
`store.exact_view` answers from them as `facts.ExactReference`.
"""

from __future__ import annotations

from typing import NamedTuple

from torchtalkd.facts import ExactKind


class ExactTarget(NamedTuple):
    """A function, as a compiler names it."""

    name: str
    """Qualified."""
    usr: int
    """Digest (signed, 64 bits) of what names it in every unit: libclang's USR, for a function that only
    one file sees with that file's path."""
    path: str
    """Of the declaration that was seen, the definition where it was; '' outside of the tree."""
    line: int


class ExactSite(NamedTuple):
    """That a body refers to a function at a place."""

    kind: ExactKind
    line: int
    """1-based, of the callee's name token where it is written."""
    column: int
    """0-based, in bytes."""
    target: int
    """Position in `ExactUnit.targets`."""


class ExactBody(NamedTuple):
    """A function's body (or a variable's initializer outside of functions), as a compiler read it."""

    name: str
    """Qualified."""
    line: int
    column: int
    end_line: int
    signature: str
    """The types of its parameters and what it returns, as libclang spells them."""
    usr: int
    sites: tuple[ExactSite, ...]


class Diagnostic(NamedTuple):
    """An error of a reading. Errors alone are kept; what they cost is missing from the bodies near them."""

    path: str
    """From the root; absolute outside of the tree."""
    line: int
    message: str
    missing: str
    """The header that was not found; '' for any other error."""


class ExactUnit(NamedTuple):
    """What a compiler's reading gives of the bodies of one file: of a translation unit its main file, of a
    header its inline functions. A function of the texts read and the arguments alone."""

    path: str
    bodies: tuple[ExactBody, ...] = ()
    targets: tuple[ExactTarget, ...] = ()
    resolved: int = 0
    """Call expressions whose target is known."""
    dependent: int = 0
    """Call expressions that depend on a template's parameters: by name alone, and not in `bodies`."""
    unresolved: int = 0
    """Call expressions without a target for another reason: an error, a missing header."""
    errors: tuple[Diagnostic, ...] = ()
