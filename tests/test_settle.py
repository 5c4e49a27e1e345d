"""When a batch is handed on, and when one who asked has heard all: the state machine alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchtalkd.changes import ChangeBatch
from torchtalkd.watch.settle import DEFAULT, Done, Settle, Timing

SMALL = Timing(most=5)


def batches(due: list[ChangeBatch | Done]) -> list[ChangeBatch]:
    return [item for item in due if isinstance(item, ChangeBatch)]


def one(due: list[ChangeBatch | Done]) -> ChangeBatch:
    [batch] = batches(due)
    return batch


def test_a_save_is_told_when_it_is_quiet() -> None:
    settle = Settle()
    settle.changed(1.0, "a.py")
    settle.changed(1.01, "a.py")
    assert settle.due(1.029) == []
    assert settle.wakes_at() == pytest.approx(1.03)
    assert one(settle.due(1.031)) == ChangeBatch(frozenset({"a.py"}))
    assert settle.wakes_at() is None


def test_a_stream_is_told_now_and_then() -> None:
    settle = Settle()
    told = []
    for step in range(200):
        now = step * 0.01
        settle.changed(now, f"{step}.py")
        told += [(now, batch) for batch in batches(settle.due(now))]
    assert [now for now, _ in told] == [pytest.approx(at) for at in (0.5, 1.01, 1.52)]


def test_a_checkout_is_one_batch_that_ends_quiet_after_the_lock() -> None:
    settle = Settle()
    settle.locked(0.0, True)
    for step in range(100):
        settle.changed(step * 0.015, f"{step}.py")
        assert settle.due(step * 0.015) == []
    settle.sweep(1.5, "git")
    settle.locked(1.5, False)
    assert settle.due(1.519) == []
    batch = one(settle.due(1.521))
    assert len(batch.paths) == 100
    assert batch.sweep == {"git"}


def test_a_lock_that_nobody_gives_back_holds_only_once() -> None:
    settle = Settle()
    settle.locked(0.0, True)
    settle.changed(0.5, "a.py")
    assert settle.wakes_at() == 2.0
    assert one(settle.due(2.0)).paths == {"a.py"}
    settle.changed(3.0, "b.py")
    assert settle.wakes_at() == pytest.approx(3.02)


def test_a_lock_taken_again_and_again_does_not_hold_for_longer() -> None:
    settle = Settle()
    settle.locked(0.0, True)
    settle.changed(0.1, "a.py")
    for step in range(1, 100):
        settle.locked(step * 0.05 - 0.01, False)
        settle.locked(step * 0.05, True)
        if batches(settle.due(step * 0.05)):
            assert step * 0.05 <= 2.15
            return
    pytest.fail("it was never told")


def test_a_cookie_needs_no_quiet() -> None:
    settle = Settle()
    done = [lambda: None]
    settle.changed(0.0, "a.py")
    settle.asked(0.001, "c", done)
    assert settle.due(0.001) == []
    settle.seen("c")
    assert settle.due(0.002) == [ChangeBatch(frozenset({"a.py"})), done[0]]


def test_a_cookie_waits_with_what_the_lock_holds() -> None:
    settle = Settle()
    done: list[Done] = [lambda: None]
    settle.locked(0.0, True)
    settle.changed(0.1, "a.py")
    settle.asked(0.2, "c", done)
    settle.seen("c")
    assert settle.due(1.9) == []
    assert settle.due(2.0) == [ChangeBatch(frozenset({"a.py"})), done[0]]


def test_a_later_cookie_answers_the_earlier_ones() -> None:
    settle = Settle()
    first, second, third = (lambda: None, lambda: None, lambda: None)
    settle.asked(0.0, "1", [first])
    settle.asked(0.0, "2", [second])
    settle.asked(0.0, "3", [third])
    settle.seen("2")
    assert settle.due(0.0) == [first, second]


def test_a_cookie_that_does_not_come_is_answered_after_a_sweep() -> None:
    settle = Settle()
    done: list[Done] = [lambda: None]
    settle.asked(0.0, "c", done)
    assert settle.wakes_at() == 1.0
    assert settle.due(0.99) == []
    due = [*settle.due(1.0), *settle.due(1.02)]
    assert due == [ChangeBatch(sweep=frozenset({"overflow"})), done[0]]
    settle.seen("c")
    assert settle.due(9.0) == []


def test_after_an_overflow_all_are_answered_after_a_sweep() -> None:
    settle = Settle()
    done: list[Done] = [lambda: None, lambda: None]
    settle.asked(0.0, "1", done[:1])
    settle.asked(0.0, "2", done[1:])
    settle.lost(0.1)
    assert settle.due(0.1) == [ChangeBatch(sweep=frozenset({"overflow"})), *done]


def test_a_storm_becomes_a_sweep() -> None:
    settle = Settle()
    for number in range(DEFAULT.most + 10):
        settle.changed(0.0, str(number))
    assert one(settle.due(1.0)) == ChangeBatch(sweep=frozenset({"overflow"}))
    settle.changed(2.0, "after.py")
    assert one(settle.due(3.0)) == ChangeBatch(frozenset({"after.py"}))


# -- any history


@dataclass
class Watched:
    """A history, with what must come of it."""

    settle: Settle = field(default_factory=lambda: Settle(SMALL))
    now: float = 0.0
    number: int = 0
    waiting: dict[str, float] = field(default_factory=dict)
    """Changes that were told and not handed on, with their times."""
    cookies: list[str] = field(default_factory=list)
    asked: dict[str, float] = field(default_factory=dict)
    owed: dict[str, set[str]] = field(default_factory=dict)
    """By cookie, the changes that must have been handed on before its `done`."""
    answered: set[str] = field(default_factory=set)

    def tell(self) -> None:
        self.number += 1
        self.waiting[str(self.number)] = self.now
        self.settle.changed(self.now, str(self.number))

    def ask(self) -> None:
        self.number += 1
        name = f"c{self.number}"
        self.cookies.append(name)
        self.asked[name] = self.now
        self.owed[name] = set(self.waiting)
        self.settle.asked(self.now, name, [self.answer(name)])

    def answer(self, name: str) -> Callable[[], None]:
        def done() -> None:
            assert name not in self.answered, "answered twice"
            late = self.owed[name] & set(self.waiting)
            assert not late, f"{name} was answered before {late} were handed on"
            self.answered.add(name)

        return done

    def see(self, which: int) -> None:
        if self.cookies:
            name = self.cookies[which % len(self.cookies)]
            self.owed[name] |= set(self.waiting)
            self.settle.seen(name)

    def look(self) -> None:
        for item in self.settle.due(self.now):
            if not isinstance(item, ChangeBatch):
                item()
            elif item.sweep:
                self.waiting.clear()
            else:
                assert len(item.paths) <= SMALL.most
                for path in item.paths:
                    del self.waiting[path]
        for path, told in self.waiting.items():
            assert self.now < told + SMALL.hold, f"{path} waits for more than the hold"
        for name, asked in self.asked.items():
            if name not in self.answered:
                assert self.now < asked + SMALL.give_up + SMALL.hold, f"{name} hangs"

    def advance(self, seconds: float) -> None:
        """Time goes on; the thread wakes whenever the machine said that something is due."""
        end = self.now + seconds
        while (wakes := self.settle.wakes_at()) is not None and wakes <= end:
            self.now = max(self.now, wakes)
            self.look()
            assert self.settle.wakes_at() != wakes, "it wakes for nothing, for ever"
        self.now = end
        self.look()


STEP = st.one_of(
    st.tuples(st.just("tell")),
    st.tuples(st.just("ask")),
    st.tuples(st.just("see"), st.integers(0, 20)),
    st.tuples(st.just("lock"), st.booleans()),
    st.tuples(st.just("lost")),
    st.tuples(st.just("sweep")),
    st.tuples(st.just("wait"), st.sampled_from([0.0, 0.001, 0.019, 0.02, 0.1, 0.5, 1.0, 1.99, 2.5])),
)


@given(st.lists(STEP, max_size=60))
def test_any_history_keeps_order_and_patience(steps: list[tuple[Any, ...]]) -> None:
    watched = Watched()
    for name, *values in steps:
        match name:
            case "tell":
                watched.tell()
            case "ask":
                watched.ask()
            case "see":
                watched.see(*values)
            case "lock":
                watched.settle.locked(watched.now, *values)
            case "lost":
                watched.settle.lost(watched.now)
            case "sweep":
                watched.settle.sweep(watched.now, "git")
            case "wait":
                watched.advance(*values)
    watched.advance(10.0)
    assert not watched.waiting
    assert watched.answered == set(watched.cookies)
    assert watched.settle.wakes_at() is None
