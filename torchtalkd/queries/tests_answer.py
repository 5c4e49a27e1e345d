"""The answer to `tests`: what was found of the tree's tests."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, Self

from torchtalkd.queries.answers import Standalone, Standing, standing_json

MODES: Final = ("find", "utils", "file_info")
FOCUSES: Final = ("all", "functions", "classes", "files")
CATEGORIES: Final = ("all", "fixtures", "assertions", "decorators")


@dataclass(frozen=True, slots=True)
class TestItem:
    """One thing that has to do with tests."""

    __test__ = False
    kind: str
    """function, class, file, C++ test, OpInfo (or another class of entries), fixture, assertion, decorator,
    import."""
    name: str
    """`TestCommon.test_out`, `TestCommon`, `test/test_ops.py`, `add`, `Suite.Name`."""
    file: str
    """From the root; '' for what the tree does not have."""
    line: int
    """1-based; 0 for a file as a whole."""
    reason: str = ""
    """Why it is in the answer, or what it is."""
    certain: bool = True
    """It has to do with what was asked; False: a list or a receiver is not known."""
    ids: tuple[str, ...] = ()
    """The first of its tests' ids, as pytest prints them."""
    count: int = 0
    """How many tests it makes for certain; of a decorator: how often it is used."""
    patterns: tuple[str, ...] = ()
    """The first of those ids that are not certain, `*` for what is not known."""
    doubts: tuple[str, ...] = ()
    """Why these are not certain."""
    details: tuple[str, ...] = ()
    """More of it, in words: `aten_name add`, `@parametrize("n", [1, 2])`."""


@dataclass(frozen=True, slots=True)
class TestsAnswer(Standalone):
    """The answer to `tests`."""

    mode: str
    query: str
    focus: str
    """Of find: all, functions, classes, files. Of utils: the category."""
    items: tuple[TestItem, ...]
    """The best ones first."""
    total: int
    """How many there are."""
    standing: Standing
    groups: tuple[str, ...] = ()
    """How many there are of each sort: `84 tests by OpInfo lists`."""
    nearest: tuple[str, ...] = ()
    """Where nothing was found: names that exist and are spelled alike."""
    error: str = ""
    """Why the question cannot be answered as asked."""

    @property
    def cited(self) -> Iterable[str]:
        """As Standalone."""
        return (item.file for item in self.items if item.file)

    def without(self, moved: frozenset[str]) -> Self:
        """As Standalone."""
        items = tuple(item for item in self.items if item.file not in moved)
        return replace(self, items=items, total=self.total - (len(self.items) - len(items)))


_ALWAYS: Final = ("kind", "name", "file", "line", "certain")


def as_json(answer: TestsAnswer) -> dict[str, Any]:
    """The object that `tests --json` prints."""
    found: dict[str, Any] = {
        "query": answer.query,
        "mode": answer.mode,
        "focus": answer.focus,
        "items": [
            {name: value for name, value in asdict(item).items() if value or name in _ALWAYS}
            for item in answer.items
        ],
        "total": answer.total,
        "shown": len(answer.items),
        "groups": list(answer.groups),
        **standing_json(answer.standing),
    }
    if answer.nearest:
        found["nearest"] = list(answer.nearest)
    if answer.error:
        found["error"] = answer.error
    return found
