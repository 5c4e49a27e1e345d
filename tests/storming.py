"""A tree that is switched between two commits while clients ask without pause, and what must hold of
each answer:

*One text*: all that an answer cites of a file stands so in one of the two versions of that file.
*No older text*: asked after git has ended, it stands so in the version that is on the disk.
*Nothing waits*: asked after git has ended, an answer that names no file as waiting is, word for word,
that of a fresh build of the commit; and it names that commit.
*One revision, one answer*: two answers to one question that name the same revision cite the same.
"""

from __future__ import annotations

import re
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from tests.bench.daemon import Agent
from tests.daemons import PATIENCE
from tests.histories import git, git_said
from torchtalkd.conventions import load
from torchtalkd.engine import build
from torchtalkd.frontends.mcp.replies import trace_text
from torchtalkd.queries.trace import trace
from torchtalkd.store.database import open_view

_PLACE: Final = re.compile(r"^ +(\S+):(\d+)  (.+)$")
_BOUND: Final = re.compile(r"registered (\S*?):(\d+)")
_REVISION: Final = re.compile(r" · revision (\d+)")
_COMMIT: Final = re.compile(r" · commit ([0-9a-f]+)(?: on \S+)?")
_WAITS: Final = re.compile(r" · INCOMPLETE: [^·\n]+|\nNOTE: [^\n]*")


class Said(NamedTuple):
    """An answer, and when it was given, in seconds of the monotonic clock."""

    name: str
    text: str
    asked: float
    answered: float

    @property
    def revision(self) -> str:
        """'' where it is no answer yet."""
        found = _REVISION.search(self.text)
        return found[1] if found else ""

    @property
    def waits(self) -> bool:
        """Whether it says that it may not be all."""
        return bool(_WAITS.search(self.text))

    @property
    def words(self) -> str:
        """The answer itself, whatever revision it is of and whatever waits."""
        return _COMMIT.sub("", _REVISION.sub("", _WAITS.sub("", self.text)))


class Place(NamedTuple):
    """A line that an answer cites; `symbol` is '' where it only has to exist."""

    file: str
    line: int
    symbol: str = ""


class Stay(NamedTuple):
    """A time in which one commit was on the disk, and git at rest."""

    commit: str
    began: float
    ended: float


@dataclass(slots=True)
class Log:
    """What was said, and when which commit was there."""

    said: list[Said] = field(default_factory=list)
    stays: list[Stay] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)


class Truth:
    """What a fresh build of each commit answers, and the texts of each."""

    def __init__(self, root: Path, stores: Mapping[str, Path], names: Sequence[str]) -> None:
        """`stores` are fresh builds, by commit."""
        self.root = root
        self.names = names
        self.answers: dict[tuple[str, str], Said] = {}
        self._lines: dict[tuple[str, str], list[str] | None] = {}
        self._cited: set[tuple[str, Place]] = set()
        for commit, store in stores.items():
            for name, text in answered(store, names).items():
                self.answers[commit, name] = Said(name, text, 0, 0)
        cited = {(commit, place) for (commit, _), said in self.answers.items() for place in places(said.text)}
        # Where a macro of a list makes them, names do not stand on their line: those few are taken as given.
        self._cited = {(commit, place) for commit, place in cited if not self.stands(place, commit)}
        assert len(self._cited) * 5 <= len(cited), self._cited

    def stands(self, place: Place, commit: str) -> bool:
        """Whether the place's symbol is on that line of that version."""
        lines = self._text(place.file, commit)
        if lines is None or not 1 <= place.line <= len(lines):
            return False
        if (commit, place) in self._cited:
            return True
        if not place.symbol or re.search(r"Backward\d*$", place.symbol):
            # The name of a node of autograd is made of the operator's.
            return True
        line = lines[place.line - 1]
        parts = re.split(r"::|\.", place.symbol)
        # Some macros make a name of two: TORCH_META_FUNC2(add, Tensor).
        return any(part in line for part in parts[-2:]) or all(part in line for part in parts[-1].split("_"))

    def _text(self, file: str, commit: str) -> list[str] | None:
        asked = (file, commit)
        if asked not in self._lines:
            try:
                self._lines[asked] = git_said(self.root, "show", f"{commit}:{file}").split("\n")
            except subprocess.CalledProcessError:
                self._lines[asked] = None
        return self._lines[asked]


def fresh_store(root: Path, folder: Path) -> Path:
    """A fresh build of the tree as it is now."""
    build(root, folder, load("pytorch", tree=root), workers=2)
    return folder


def answered(store: Path, names: Sequence[str]) -> dict[str, str]:
    """What an index answers, by name."""
    with open_view(store) as view:
        return {name: trace_text(trace(view, name), []) for name in names}


def places(text: str) -> Iterator[Place]:
    """The lines that an answer cites."""
    for line in text.split("\n"):
        found = _PLACE.match(line)
        if not found or found[1] == "":
            continue
        yield Place(found[1], int(found[2]), re.split(r"[(\s]", found[3])[0])
        for bound in _BOUND.finditer(found[3]):
            yield Place(bound[1] or found[1], int(bound[2]))


def storm(truth: Truth, agents: Sequence[Agent], commits: Sequence[str], rounds: int) -> Log:
    """Switches `rounds` times while each agent asks; waits for nothing but git, and after every second
    round for each agent to have had three more answers."""
    log = Log()
    over = threading.Event()
    counts = [0] * len(agents)
    progress = threading.Condition()

    def ask(number: int) -> None:
        n = number
        while not over.is_set():
            name = truth.names[n % len(truth.names)]
            began = time.monotonic()
            try:
                text = agents[number].call("trace", func=name)
            except (AssertionError, KeyError, OSError, ValueError) as error:
                log.failed.append(f"{name}: {error!r}")
                return
            finally:
                with progress:
                    counts[number] += 1
                    progress.notify_all()
            log.said.append(Said(name, text, began, time.monotonic()))
            n += 1

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(len(agents))]
    for thread in threads:
        thread.start()
    for turn in range(rounds):
        commit = commits[turn % len(commits)]
        git(truth.root, "checkout", "-q", "-f", commit)
        began = time.monotonic()
        if turn % 2:
            with progress:
                wanted = [count + 3 for count in counts]
                progress.wait_for(
                    lambda wanted=wanted: all(c >= w for c, w in zip(counts, wanted, strict=True)), PATIENCE
                )
        log.stays.append(Stay(commit, began, time.monotonic()))
    over.set()
    for thread in threads:
        thread.join()
    log.stays[-1] = log.stays[-1]._replace(ended=time.monotonic())
    return log


def wrong(truth: Truth, log: Log, commits: Sequence[str]) -> Iterator[str]:
    """Sentences about answers that break one of the rules."""
    yield from log.failed
    of_revision: dict[tuple[str, str], Said] = {}
    for said in log.said:
        if not said.revision:
            if "Function not found" not in said.text:
                yield f"{said.name}: no answer: {said.text[:200]}"
            continue
        stay = next((s for s in log.stays if s.began <= said.asked and said.answered <= s.ended), None)
        by_file: dict[str, list[Place]] = {}
        for place in places(said.text):
            by_file.setdefault(place.file, []).append(place)
        for file, cited in by_file.items():
            fits = [c for c in commits if all(truth.stands(place, c) for place in cited)]
            if not fits:
                yield f"{said.name}, revision {said.revision}: {cited} stand in no version of {file}"
            elif stay and stay.commit not in fits:
                yield f"{said.name}, revision {said.revision}: {cited} are of an older text"
        if stay and not said.waits:
            expected = truth.answers[stay.commit, said.name]
            if said.words != expected.words:
                yield f"{said.name}: nothing waits, and yet:\n{said.text}\nbut should be\n{expected.text}"
            named = _COMMIT.search(said.text)
            if not named or not stay.commit.startswith(named[1]):
                yield f"{said.name}: at {stay.commit} it names {named and named[1]}"
        other = of_revision.setdefault((said.name, said.revision), said)
        if not said.waits and not other.waits and other.words != said.words:
            yield f"{said.name}: two answers of revision {said.revision}:\n{other.text}\nand\n{said.text}"


def settled(truth: Truth, agents: Sequence[Agent], commit: str) -> Mapping[str, str]:
    """The names whose answer does not become that of the commit, with the answer that they have."""
    last: dict[str, str] = {}
    deadline = time.monotonic() + PATIENCE
    for agent in agents:
        for name in truth.names:
            while True:
                said = Said(name, agent.call("trace", func=name, wait=True), 0, 0)
                if not said.waits or time.monotonic() > deadline:
                    break
            if said.waits or said.words != truth.answers[commit, name].words:
                last[name] = said.text
    return last
