"""What is derived from a whole revision, made piece by piece, so that who asks meanwhile waits for one piece.

The work is a generator that yields after each piece and returns the value. It is begun once for a revision:
a question that needs the value takes the work up where it stopped, and does the rest of it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from typing import Any, TypeAlias, TypeVar

from torchtalkd.link.source import Facts

F = TypeVar("F", bound=Facts)
T = TypeVar("T")
Work: TypeAlias = Generator[None, None, T]


def derived(facts: F, name: str, work: Callable[[F], Work[T]]) -> T:
    """The value, which is kept under its name; made, or made to its end, where it is not there."""
    for _ in derive(facts, name, work):
        pass
    value: T = facts.kept[name]
    return value


def derive(facts: F, name: str, work: Callable[[F], Work[T]]) -> Iterator[None]:
    """Makes the value as `derived` does, one piece at each step."""
    begun: dict[str, Work[Any]] = facts.kept.setdefault("begun", {})
    while name not in facts.kept:
        doing = begun.get(name)
        if doing is None:
            doing = begun[name] = work(facts)
        try:
            next(doing)
        except StopIteration as done:
            facts.kept[name] = done.value
            del begun[name]
            return
        except BaseException:
            # What has failed is no beginning.
            begun.pop(name, None)
            raise
        yield
