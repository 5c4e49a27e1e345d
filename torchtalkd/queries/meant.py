"""What the name at a place means: the values that the questions from a position share."""

from __future__ import annotations

from dataclasses import dataclass

from torchtalkd.link.source import Evidence
from torchtalkd.queries.answers import Subject
from torchtalkd.spots import Passed


@dataclass(frozen=True, slots=True)
class Meant:
    """The meaning of a name at a place."""

    line: int
    """1-based, of the name that the answer is about."""
    column: int
    """0-based, in bytes."""
    end: int
    """The column behind the name."""
    subjects: tuple[Subject, ...]
    """As `queries.locate` gives them for a name: the best meaning first."""
    evidence: Evidence = "exact"
    """candidate: what a method of an unknown receiver may be."""
    passed: Passed | None = None
    """With what it is called, where it is."""
    receiver: bool = False
    """Whether it is a method of a value, which is an argument, too."""
    defines: bool = False
    """Whether the name is defined or bound at this very place."""
    schema: bool = False
    """Whether the name stands for an operator's entry, not for what runs it: in another entry of yaml."""
    note: str = ""
    """A word to whoever reads it: that a receiver's type is not known."""
