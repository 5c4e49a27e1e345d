"""modules: a Python class with its methods and what running it comes to; or lists of classes.

`trace` shows the class that a name means (or a function of torch.nn.functional): where it is, its methods,
and for those that its users run (`forward`, `step`) the operators with the kernels of each. `list` lists
the classes of a category of the manifest (`[[link.categories]]`), of `all`, or those whose names contain a
text. The tests are `tests/test_modules.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, Literal, TypeAlias, get_args

from torchtalkd import keys
from torchtalkd.facts import Category, FiledDefinition
from torchtalkd.link import python_classes
from torchtalkd.queries.answers import Standalone, Standing, standing
from torchtalkd.queries.module_card import Card, card, public_name
from torchtalkd.queries.module_categories import by_name, category_classes
from torchtalkd.queries.module_names import begins_a_word, containing, module_names, spelled_alike
from torchtalkd.store.view import View

Mode: TypeAlias = Literal["trace", "list"]
Focus: TypeAlias = Literal["methods", "full"]
MODES: Final = get_args(Mode)
FOCUSES: Final = get_args(Focus)
ALL: Final = "all"
MOST_LISTED: Final = 60
"""Classes of a list that are shown, unless more are asked for."""
MOST_OTHERS: Final = 12
"""Further meanings of a traced name, and names that contain it."""


@dataclass(frozen=True, slots=True)
class Row:
    """A class of a list."""

    name: str
    """Where it is defined."""
    public: str
    """As users write it."""
    file: str
    line: int
    bases: tuple[str, ...] = ()
    """As written, imports followed."""
    kind: str = "class"


@dataclass(frozen=True, slots=True)
class ModulesAnswer(Standalone):
    """The answer to `modules`."""

    query: str
    mode: str
    focus: str
    standing: Standing
    cards: tuple[Card, ...] = ()
    """Of `trace`: what the name means, the likeliest meaning only."""
    rows: tuple[Row, ...] = ()
    """Of `list`: the classes. Of `trace`: further things of that name, then those whose names contain it."""
    total: int = 0
    """How many classes there are, of which `rows` are the first."""
    category: str = ""
    """Of `list`: the category that was listed, '' where names were searched."""
    categories: tuple[tuple[str, str], ...] = ()
    """The categories that can be listed, each with what one of its classes is."""
    exact: bool = True
    """Whether what is shown is called as asked; if not, it is only the likest."""
    nearest: tuple[str, ...] = ()
    """Where nothing was found: names that are spelled alike."""
    error: str = ""
    """Why the question cannot be answered as asked; '' if it can."""

    @property
    def found(self) -> bool:
        """Whether there is anything of that name."""
        return bool(self.cards or self.rows or self.category)

    @property
    def cited(self) -> tuple[str, ...]:
        """The files that it names."""
        return tuple({place: None for place in (*map(_file, self.rows), *_card_files(self.cards)) if place})

    def without(self, moved: frozenset[str]) -> ModulesAnswer:
        """Without the cards that name files that moved on, and rows in such."""
        cards = tuple(one for one in self.cards if not moved.intersection(_card_files((one,))))
        return replace(self, cards=cards, rows=tuple(row for row in self.rows if row.file not in moved))


def _file(row: Row) -> str:
    return row.file


def _card_files(cards: tuple[Card, ...]) -> Iterator[str]:
    for one in cards:
        yield one.file
        yield from (base.file for base in one.bases)
        runs = [*one.runs, *(run for method in one.methods for run in method.runs)]
        yield from (method.file for method in one.methods)
        for run in runs:
            yield run.file
            yield from (kernel.file for kernel in run.kernels)


def modules(
    view: View, name: str = "", mode: Mode = "trace", focus: Focus = "methods", limit: int = MOST_LISTED
) -> ModulesAnswer:
    """The class or function of a name, or a list of classes. Read-only.

    Raises ValueError for another mode or focus. An empty name lists all. `ModulesAnswer.found` is false
    where nothing has the name.
    """
    if mode not in MODES:
        raise ValueError(f"unknown mode {mode!r}: {', '.join(MODES)}")
    if focus not in FOCUSES:
        raise ValueError(f"unknown focus {focus!r}: {', '.join(FOCUSES)}")
    name = name.strip()
    categories = tuple((category.name, category.label) for category in view.rules.categories)
    answer = ModulesAnswer(name, mode, focus, standing(view), categories=categories)
    if not name and mode == "trace":
        known = ", ".join([*(category.name for category in view.rules.categories), ALL])
        return replace(answer, error=f"name a class, or list a category: {known}")
    if mode == "list":
        return _list(view, answer, name, limit)
    return _trace(view, answer, name, focus == "full")


def _list(view: View, answer: ModulesAnswer, name: str, limit: int) -> ModulesAnswer:
    category = next((c for c in view.rules.categories if c.name == name), None)
    if category is not None:
        classes = category_classes(view, category)
    elif name in ("", ALL):
        classes = _all(view)
    else:
        classes = containing(view, name)
        if not classes:
            return replace(answer, nearest=tuple(spelled_alike(view, name)))
    listed = category.name if category is not None else ALL if name in ("", ALL) else ""
    rows = tuple(_row(view, cls) for cls in classes[:limit])
    return replace(answer, rows=rows, total=len(classes), category=listed, exact=bool(listed))


def _all(view: View) -> list[FiledDefinition]:
    classes = {
        cls.id: cls
        for category in _distinct(view.rules.categories)
        for cls in category_classes(view, category, everywhere=True)
    }
    return sorted(classes.values(), key=by_name)


def _distinct(categories: tuple[Category, ...]) -> list[Category]:
    """One category of each set of bases."""
    return list({category.bases: category for category in reversed(categories)}.values())[::-1]


def _trace(view: View, answer: ModulesAnswer, name: str, full: bool) -> ModulesAnswer:
    meant = module_names(view, name)
    like = [] if "." in name else containing(view, name)
    like = [cls for cls in like if begins_a_word(name.strip("_"), keys.last(cls.fact.key))]
    exact = bool(meant)
    if not meant:
        if not like:
            return replace(answer, nearest=tuple(spelled_alike(view, name)))
        first, alias = like[0], None
    else:
        first, alias = meant[0]
    seen = {first.id}
    rows = []
    for definition in (*(one.definition for one in meant), *like):
        if definition.id not in seen:
            seen.add(definition.id)
            rows.append(definition)
    shown = tuple(_row(view, definition) for definition in rows[:MOST_OTHERS])
    found = card(view, first, full=full, alias=alias)
    return replace(answer, cards=(found,), rows=shown, total=len(rows), exact=exact)


def _row(view: View, definition: FiledDefinition) -> Row:
    fact = definition.fact
    bases: tuple[str, ...] = ()
    if fact.kind == "class":
        bases = tuple(reference.fact.name for reference in python_classes.base_names(view, definition))
    kind = "function" if fact.kind == "python_binding" else fact.kind
    return Row(fact.name, public_name(view, definition), definition.file.path, fact.line, bases, kind)


def as_json(answer: ModulesAnswer) -> dict[str, Any]:
    """The object of `--json`."""
    found: dict[str, Any] = {
        "query": answer.query,
        "mode": answer.mode,
        "focus": answer.focus,
        "found": answer.found,
        "exact": answer.exact,
        "modules": [asdict(one) for one in answer.cards],
        "rows": [asdict(row) for row in answer.rows],
        "total": answer.total,
        "shown": len(answer.rows),
        "categories": [name for name, _ in answer.categories],
        "revision": answer.standing.revision,
        "complete": answer.standing.complete and not answer.standing.waiting,
    }
    if answer.category:
        found["category"] = answer.category
    if answer.nearest:
        found["nearest"] = list(answer.nearest)
    if answer.error:
        found["error"] = answer.error
    return found
