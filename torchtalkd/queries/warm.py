"""What questions from a position derive from a revision first: done before somebody asks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from torchtalkd.link import python_names, python_types, stubs
from torchtalkd.queries.answers import standing
from torchtalkd.queries.symbols import symbols
from torchtalkd.store.view import View


def _names(view: View) -> None:
    symbols(view, "a", 1)


def _types(view: View) -> None:
    python_names.resolve(view, python_types.tensor_class(view))


def _stubs(view: View) -> None:
    stubs.is_stub(view, "")


def _standing(view: View) -> None:
    standing(view)


WARM: Final[tuple[Callable[[View], None], ...]] = (_standing, _types, _stubs, _names)
"""Steps, each short: a question that comes meanwhile waits for one of them at most."""
