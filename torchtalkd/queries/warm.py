"""What questions derive from a whole revision, done before somebody asks, in pieces.

Each piece is short, some milliseconds of a large tree: a question that comes meanwhile waits for one of them
at most. What is half done is taken up by the question that needs it (`link.pieces`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

from torchtalkd import keys
from torchtalkd.link import macros, operators, python_names, python_types, seen, stubs
from torchtalkd.link.made_functions import made_functions
from torchtalkd.queries.answers import standing
from torchtalkd.queries.operator_edges import prepare_formulas
from torchtalkd.queries.symbols import symbols
from torchtalkd.store.view import View

Step: TypeAlias = Callable[[View], Iterator[None] | None]
"""Derives one thing: at once, or in pieces."""


def warm(view: View, enough: Callable[[], bool] | None = None) -> bool:
    """Derives what is not derived yet, until it is `enough`; whether nothing is left to do."""
    pieces: Iterator[None] | None = view.kept.get("warm")
    if pieces is None:
        pieces = view.kept["warm"] = _pieces(view)
    return not any(enough is not None and enough() for _ in pieces)


def _pieces(view: View) -> Iterator[None]:
    for step in STEPS:
        yield from step(view) or ()
        yield


def _operators(view: View) -> Iterator[None]:
    for key in view.keys(keys.space(keys.op(""))):
        operators.families(view, keys.last(key))
        yield


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


STEPS: Final[tuple[Step, ...]] = (
    _standing,
    _types,
    _stubs,
    _macros,
    _nodes,
    _operators,
    _names,
    seen.prepare,
    prepare_formulas,
)
"""In this order: what most questions need comes first."""
