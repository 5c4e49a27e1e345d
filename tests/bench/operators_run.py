"""A pytest plugin that records which operators each test file runs, to compare `affected` with.

    OPERATORS_RUN=out.json python -m pytest -p tests.bench.operators_run test/test_torch.py

It needs a torch that is installed. The profiler sees every call of the dispatcher. OPERATORS_RUN_SECONDS
ends a long file early; the tests come in a shuffled order, so that what is left out is no whole class.
"""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Iterator
from typing import Any

import pytest

_OUT = os.environ.get("OPERATORS_RUN", "")
_SECONDS = float(os.environ.get("OPERATORS_RUN_SECONDS", "600"))
_ran: dict[str, int] = {}
_state = {"started": 0.0, "tests": 0.0}


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[Any]) -> None:
    """Shuffles, always alike."""
    random.Random(7).shuffle(items)
    _state["started"] = time.monotonic()


def pytest_runtest_protocol() -> bool | None:
    """Passes over the rest when the time is up."""
    return True if time.monotonic() - _state["started"] > _SECONDS else None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Iterator[None]:
    """Records one test."""
    from torch._C._autograd import _disable_profiler, _enable_profiler, _prepare_profiler  # type: ignore
    from torch._C._profiler import (  # type: ignore
        ProfilerActivity,
        ProfilerConfig,
        ProfilerState,
        _ExperimentalConfig,
    )

    config = ProfilerConfig(ProfilerState.KINETO, False, False, False, False, False, _ExperimentalConfig())
    _prepare_profiler(config, {ProfilerActivity.CPU})
    _enable_profiler(config, {ProfilerActivity.CPU})
    try:
        return (yield)
    finally:
        try:
            names = {event.name() for event in _disable_profiler().events()}
        except RuntimeError:
            # The test has ended our profiler for one of its own.
            names = set()
        _state["tests"] += 1
        for name in names:
            if "::" in name:
                _ran[name] = _ran.get(name, 0) + 1


def pytest_sessionfinish() -> None:
    """Writes what was recorded."""
    if _OUT:
        with open(_OUT, "w", encoding="utf-8") as file:
            json.dump({"ops": _ran, "tests": int(_state["tests"])}, file)
