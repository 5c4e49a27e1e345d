"""What questions derive from a whole revision, done before somebody asks, in pieces.

Each piece is short, some milliseconds of a large tree: a question that comes meanwhile waits for one of them
at most. What is half done is taken up by the question that needs it (`link.pieces`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

from torchtalkd import keys
from torchtalkd.link import (
    macros,
    made_functions,
    operators,
    python_names,
    python_types,
    seen,
    stubs,
    test_entries,
    test_functions,
)
from torchtalkd.queries import operator_edges, search, status, symbols
from torchtalkd.queries.answers import standing
from torchtalkd.store.view import View

Step: TypeAlias = Callable[[View], Iterator[None]]
"""Derives one thing, in pieces."""


def warm(view: View, enough: Callable[[], bool] | None = None) -> bool:
    """Derives what is not derived yet, until it is `enough`; whether nothing is left to do."""
    pieces: Iterator[None] | None = view.kept.get("warm")
    if pieces is None:
        pieces = view.kept["warm"] = (None for step in STEPS for _ in step(view))
    return not any(enough is not None and enough() for _ in pieces)


def _small(view: View) -> Iterator[None]:
    standing(view)
    yield
    python_names.resolve(view, python_types.tensor_class(view))
    yield
    stubs.is_stub(view, "")
    yield
    operators.nodes(view, "AbsBackward0")
    yield
    view.exact_share()
    yield


def _operators(view: View) -> Iterator[None]:
    for key in view.keys(keys.space(keys.op(""))):
        operators.families(view, keys.last(key))
        yield


def _entries(view: View) -> Iterator[None]:
    test_entries.entries_of(view, "")
    yield


STEPS: Final[tuple[Step, ...]] = (
    _small,
    _operators,
    macros.prepare,
    made_functions.prepare,
    search.prepare,
    seen.prepare,
    operator_edges.prepare_formulas,
    symbols.prepare,
    status.prepare,
    _entries,
    test_functions.prepare,
    View.prepare_bodies,
)
"""In this order: what most questions need comes first."""
