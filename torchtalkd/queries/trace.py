"""trace: where a name is implemented, layer by layer, from Python down to the kernels.

Focus `full` shows every layer, `yaml` the entry with schema, dispatch and formula, `dispatch` the
kernel of each key, for a composite also of the operators that it ends in. The layers are
the modules `trace_*.py`; this one puts them together. The tests are `tests/test_queries.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal, TypeAlias, get_args

from torchtalkd import keys
from torchtalkd.link import operators, wrappers
from torchtalkd.link.operators import Family
from torchtalkd.queries import trace_composite, trace_kernels
from torchtalkd.queries.answers import Answer, Item, Subject, standing
from torchtalkd.queries.collect import Collected, place_of
from torchtalkd.queries.locate import locate
from torchtalkd.queries.trace_derivative import derivative_items
from torchtalkd.queries.trace_kernels import kernel_items
from torchtalkd.queries.trace_layers import layer_items, test_items
from torchtalkd.queries.trace_names import name_items
from torchtalkd.queries.trace_python import python_items
from torchtalkd.queries.trace_registrations import registration_items
from torchtalkd.queries.trace_table import table_items
from torchtalkd.queries.trace_yaml import yaml_items
from torchtalkd.store.view import View

Focus: TypeAlias = Literal["full", "yaml", "dispatch"]
FOCUSES: Final = get_args(Focus)


def trace(view: View, name: str, focus: Focus = "full") -> Answer:
    """The places that implement what `name` means. Read-only.

    Raises ValueError for another focus. `Answer.found` is false where nothing has the name.
    """
    if focus not in FOCUSES:
        raise ValueError(f"unknown focus {focus!r}: {', '.join(FOCUSES)}")
    located = locate(view, name)
    found: list[Item] = []
    answered = frozenset(s.name for s in located.subjects if s.answered and s.kind == "operator")
    seen: set[tuple[str, str, int]] = set()
    for subject in located.subjects:
        if subject.answered:
            items = subject_items(view, subject, focus, answered)
            found.extend(item for item in items if (item.role, item.file, item.line) not in seen)
            seen.update((item.role, item.file, item.line) for item in items)
    return Answer(
        question="trace",
        query=name,
        focus=focus,
        subjects=located.subjects,
        items=tuple(found),
        total=len(found),
        standing=standing(view),
        nearest=located.nearest,
        root=view.meta("root"),
    )


def subject_items(
    view: View, subject: Subject, focus: Focus, answered: frozenset[str] = frozenset()
) -> list[Item]:
    """The items of one subject, by layer. `answered` are the operators among the subjects."""
    collected = Collected(view.rules.backends)
    if subject.kind != "operator":
        collected.extend(name_items(view, subject, answered))
        return collected.items()
    family = operators.family(view, subject.name)
    if family is None:
        return []
    overloads = frozenset(subject.overloads)
    layers = {"full": _full, "yaml": _yaml, "dispatch": _dispatch}
    collected.extend(layers[focus](view, family, overloads))
    if focus != "dispatch":
        return collected.items()
    own = collected.items()
    return [*own, *trace_composite.composite_items(view, family, overloads)]


def _full(view: View, family: Family, overloads: frozenset[str]) -> Iterator[Item]:
    yield from python_items(view, family, overloads)
    yield from yaml_items(view, family, overloads)
    yield from kernel_items(view, family, overloads)
    yield from registration_items(view, family, overloads)
    yield from derivative_items(view, family, overloads)
    yield from layer_items(view, family, overloads)
    names = [point.name for point in wrappers.entry_points(view, family)]
    yield from test_items(view, family, names)


def _yaml(view: View, family: Family, overloads: frozenset[str]) -> Iterator[Item]:
    """The entry of each overload, each line of its dispatch, its derivative's formulas."""
    yield from yaml_items(view, family, overloads)
    for entry in family.entries:
        if entry.fact.name in overloads and entry.fact.kind == "operator":
            for row in trace_kernels.rows(view, entry):
                yield place_of(
                    "yaml",
                    row.registration,
                    "declared",
                    operator=entry.fact.name,
                    dispatch_key=row.registration.fact.dispatch_key,
                    symbol=row.written or keys.operator_name(entry.fact.name).base,
                )
    yield from derivative_items(view, family, overloads, named=False)


def _dispatch(view: View, family: Family, overloads: frozenset[str]) -> Iterator[Item]:
    yield from table_items(view, family, overloads)
    yield from kernel_items(view, family, overloads)
    yield from registration_items(view, family, overloads)
