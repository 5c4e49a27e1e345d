"""What a second root costs: memory and answers of a daemon with one tree, and with two.

    python -m tests.bench.roots BASE EXTENSION [--cache FOLDER] [--rounds 200] [--quiet 0]

BASE is the framework's tree, EXTENSION one that depends on it: PyTorch and vLLM. The indexes are built
in a home of its own, or taken from the cache in FOLDER (as `XDG_CACHE_HOME`). A daemon that has only BASE
open and one that has both answer the same warm tool calls in turns; the second also calls that go from
one tree to the other. Its figures stand with their ratio to those of the first. Memory is that
of the daemon and its children, shared pages divided (PSS): right after the calls, and with `--quiet`
that many seconds later.
"""

from __future__ import annotations

import argparse
import os
import statistics
import threading
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from tests.bench.daemon import NAMES, Agent, pss, took
from tests.daemons import alive, new_home, until

TEXTS = ("relu", "conv", "mm")
TAKEN = ("torch.matmul", "torch.nn.functional.silu", "torch.empty", "torch.nn.Linear")
"""Names of the framework that an extension asks about."""
FUNCTION = "vllm.model_executor.layers.activation.SiluAndMul.forward_native"
MOST_MB = 450.0

Figures = dict[str, float]
"""Median milliseconds of each sort of call; MB of each moment."""


Call = Callable[[int], object]


def calls(rounds: int, *sides: dict[str, Call]) -> list[Figures]:
    """The median of each sort of call, one after the other; of several sides in turns, so that what else
    the machine does slows both."""
    found: list[Figures] = [{} for _ in sides]
    for what in sides[0]:
        for side in sides:
            for number in range(len(NAMES)):
                side[what](number)
        times: list[list[float]] = [[] for _ in sides]
        for number in range(rounds):
            for side, mine in zip(sides, times, strict=True):
                mine.append(took(partial(side[what], number)))
        for figures, mine in zip(found, times, strict=True):
            figures[what] = statistics.median(mine)
    return found


def of_base(agent: Agent) -> dict[str, Call]:
    """What is asked about the framework, with and without the other tree."""
    return {
        "trace": lambda n: agent.call("trace", func=NAMES[n % len(NAMES)]),
        "search": lambda n: agent.call("search", query=TEXTS[n % len(TEXTS)]),
        "unknown name": lambda n: agent.call("trace", func=f"no_such_thing_{n}"),
    }


def across(base: Agent, extension: Agent, function: str) -> dict[str, Call]:
    """What goes from one tree to the other."""
    return {
        "a framework's name, asked in the extension": lambda n: _found(
            extension.call("trace", func=TAKEN[n % len(TAKEN)])
        ),
        "a function of the extension": lambda n: _found(extension.call("trace", func=function)),
        "external references, joined": lambda n: extension.call("search", query="linear", mode="external"),
        "who uses it, in all roots": lambda n: _found(
            base.call("trace", func=TAKEN[n % len(TAKEN)], all_roots=True)
        ),
    }


def _found(text: str) -> str:
    assert "not found" not in text, text
    return text


class Side:
    """A daemon with its clients, one for each tree."""

    def __init__(self, cache: Path, trees: tuple[Path, ...], stack: ExitStack) -> None:
        self.home = stack.enter_context(new_home())
        self.home.environ["XDG_CACHE_HOME"] = str(cache)
        self.home.run("restart")
        self.agents = [Agent(self.home, tree) for tree in trees]

    def memory(self, when: str) -> Figures:
        """MB of the daemon and its children."""
        return {f"MB {when}": pss(self.home.pid())}

    def end(self) -> None:
        """Ends the clients and the daemon."""
        pid = self.home.pid()
        for agent in self.agents:
            agent.end()
        self.home.run("stop")
        until(lambda: not alive(pid), "it ends")


def main() -> int:
    """Prints both columns; 1 where two trees take more memory than they may."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("base", type=lambda text: Path(text).resolve())
    parser.add_argument("extension", type=lambda text: Path(text).resolve())
    parser.add_argument("--cache", type=lambda text: Path(text).resolve())
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--quiet", type=float, default=0.0)
    parser.add_argument("--function", default=FUNCTION, help="of the extension, that calls the framework")
    given = parser.parse_args()
    print(f"load {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores", flush=True)
    with ExitStack() as stack:
        builder = stack.enter_context(new_home())
        cache = given.cache or Path(builder.environ["XDG_CACHE_HOME"])
        builder.environ["XDG_CACHE_HOME"] = str(cache)
        for tree in (given.base, given.extension):
            # In a process of its own: with a daemon the memory of this one would count.
            said, _ = builder.start("index", "build", "--source", tree, "--no-daemon").communicate()
            print(said, end="", flush=True)
        one = Side(cache, (given.base,), stack)
        calls(given.rounds, of_base(one.agents[0]))
        alone = one.memory("at once")
        both = Side(cache, (given.base, given.extension), stack)
        (together,) = calls(given.rounds, across(*both.agents, given.function))
        first, second = calls(given.rounds, of_base(one.agents[0]), of_base(both.agents[0]))
        alone |= first
        one.end()
        together |= second | both.memory("at once")
        if given.quiet:
            threading.Event().wait(given.quiet)
            together |= both.memory(f"{given.quiet:.0f} s later")
        both.end()
    for what, value in together.items():
        unit = "MB" if what.startswith("MB") else "ms"
        beside = (
            f"   with one {alone[what]:7.1f} {unit}: {value / alone[what]:.2f} ×" if what in alone else ""
        )
        print(f"{what:<46} {value:7.1f} {unit}{beside}")
    most = max(value for what, value in together.items() if what.startswith("MB"))
    print(f"most memory with two trees: {most:.0f} MB (wanted {MOST_MB:.0f} MB)")
    return int(most > MOST_MB)


if __name__ == "__main__":
    raise SystemExit(main())
