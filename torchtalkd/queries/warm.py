"""What questions from a position derive from a revision first: done before somebody asks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from torchtalkd.link import macros, operators, python_names, python_types, seen, stubs
from torchtalkd.link.made_functions import made_functions
from torchtalkd.queries.answers import standing
from torchtalkd.queries.operator_edges import prepare_formulas
from torchtalkd.queries.symbols import symbols
from torchtalkd.store.view import View


def _names(view: View) -> None:
    symbols(view, "a", 1)


def _types(view: View) -> None:
    python_names.resolve(view, python_types.tensor_class(view))


def _stubs(view: View) -> None:
    stubs.is_stub(view, "")


def _macros(view: View) -> None:
    macros.made_for(view, "")
    made_functions(view, "")


def _nodes(view: View) -> None:
    operators.nodes(view, "AbsBackward0")


def _standing(view: View) -> None:
    standing(view)


def _includes(view: View) -> None:
    seen.prepare(view)


def _formulas(view: View) -> None:
    prepare_formulas(view)


WARM: Final[tuple[Callable[[View], None], ...]] = (
    _standing,
    _types,
    _stubs,
    _macros,
    _nodes,
    _names,
    _includes,
    _formulas,
)
"""Steps, each short: a question that comes meanwhile waits for one of them at most."""
