"""What is derived from a whole revision, made piece by piece, so that who asks meanwhile waits for one piece.

The work is a generator that yields after each piece and returns the value. It is begun once for a revision:
a question that needs the value takes the work up where it stopped, and does the rest of it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Iterator
from typing import Any, TypeAlias, TypeVar

from torchtalkd.link.source import Facts

F = TypeVar("F", bound=Facts)
T = TypeVar("T")
Work: TypeAlias = Generator[None, None, T]
Kept: TypeAlias = dict[Any, Any]


def derived(facts: F, name: Hashable, work: Callable[[F], Work[T]], kept: Kept | None = None) -> T:
    """The value, which is kept under its name, in `kept` or else in `facts.kept`. It is made, or made to its
    end, where it is not there."""
    for _ in derive(facts, name, work, kept):
        pass
    place: Kept = facts.kept if kept is None else kept
    value: T = place[name]
    return value


def derive(
    facts: F, name: Hashable, work: Callable[[F], Work[T]], kept: Kept | None = None
) -> Iterator[None]:
    """Makes the value as `derived` does, one piece at each step."""
    place: Kept = facts.kept if kept is None else kept
    begun: dict[Hashable, Work[Any]] = facts.kept.setdefault("begun", {})
    while name not in place:
        doing = begun.get(name)
        if doing is None:
            doing = begun[name] = work(facts)
        try:
            next(doing)
        except StopIteration as done:
            place[name] = done.value
            del begun[name]
            return
        except BaseException:
            # What has failed is no beginning.
            begun.pop(name, None)
            raise
        yield
