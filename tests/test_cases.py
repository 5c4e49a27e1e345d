"""Runs the cases in tests/cases: small trees with markers in their own comments (see README.md there)."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.facts_view import harness
from torchtalkd.engine import build
from torchtalkd.queries.answers import Answer
from torchtalkd.queries.trace import trace
from torchtalkd.store.database import open_view
from torchtalkd.store.view import View

CASES = sorted((Path(__file__).parent / "cases").glob("*.txt"))

_FILE = re.compile(r"^-- (?P<path>[^@\s]+?)(?:@(?P<version>\d+))? --$")
_MARKER = re.compile(
    r"^(?P<before>\s*(?:#|//|--|;)?\s*)(?P<mark>\^+|<\d+)\s*"
    r"(?P<verb>defines|trace(?: \w+)?|traces|no trace|not found|place)(?::\s*(?P<rest>.*))?$"
)
_NAME_BEFORE = re.compile(r"[\w.:]*$")
_NAME_AFTER = re.compile(r"^\w*")


@dataclass(frozen=True)
class Marker:
    """A claim about the name at a place."""

    path: str
    line: int
    column: int
    length: int
    verb: str
    rest: str
    text: str
    """The line that it is about."""

    @property
    def where(self) -> str:
        return f"{self.path}:{self.line}"

    @property
    def name(self) -> str:
        """The name above the carets, with what it is qualified by."""
        end = self.column + self.length
        before = _NAME_BEFORE.search(self.text[: self.column])
        after = _NAME_AFTER.search(self.text[end:])
        assert before is not None
        assert after is not None
        return before[0] + self.text[self.column : end] + after[0]


@dataclass(frozen=True)
class Case:
    prose: str
    versions: dict[int, dict[str, str]]
    """Number of the version → path → text; an empty text deletes the file."""

    def said(self, word: str, default: str) -> str:
        found = re.search(rf"^{word}: (.+)$", self.prose, re.MULTILINE)
        return found[1].strip() if found else default


def read_case(text: str) -> Case:
    prose: list[str] = []
    versions: dict[int, dict[str, str]] = {1: {}}
    lines: list[str] | None = None
    for line in text.splitlines(keepends=True):
        head = _FILE.match(line.rstrip("\n"))
        if head:
            lines = []
            versions.setdefault(int(head["version"] or 1), {})[head["path"]] = ""
            place = versions[int(head["version"] or 1)], head["path"]
        elif lines is None:
            prose.append(line)
        else:
            lines.append(line)
            place[0][place[1]] = "".join(lines)
    return Case("".join(prose), versions)


def markers(path: str, text: str) -> Iterator[Marker]:
    about, number = "", 0
    for at, line in enumerate(text.splitlines(), 1):
        found = _MARKER.match(line)
        if found is None:
            about, number = line, at
            continue
        mark = found["mark"]
        column, length = (0, int(mark[1:])) if mark.startswith("<") else (len(found["before"]), len(mark))
        yield Marker(path, number, column, length, found["verb"], (found["rest"] or "").strip(), about)


@pytest.mark.parametrize("path", CASES, ids=[path.stem for path in CASES])
def test_case(path: Path, tmp_path: Path) -> None:
    case = read_case(path.read_text())
    conventions = harness(case.said("harness", "pytorch"))
    tree, folder = tmp_path / "tree", tmp_path / "index"
    folder.mkdir()
    state: dict[str, str] = {}
    for number in sorted(case.versions):
        for name, text in case.versions[number].items():
            target = tree / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if text:
                target.write_text(text)
                state[name] = text
            else:
                target.unlink()
                state.pop(name)
        build(tree, folder, conventions, workers=1)
        with open_view(folder) as view:
            checked = [
                check(view, marker, case) for name, text in state.items() for marker in markers(name, text)
            ]
        assert checked, "a case without a marker shows nothing"
    if len(case.versions) > 1:
        fresh = tmp_path / "fresh"
        fresh.mkdir()
        build(tree, fresh, conventions, workers=1)
        assert dump(folder) == dump(fresh)


def check(view: View, marker: Marker, case: Case) -> None:
    if marker.verb == "defines":
        file = view.file(marker.path)
        assert file is not None, marker.path
        found = {(d.fact.key, d.fact.column) for d in view.definitions_in(file) if d.fact.line == marker.line}
        assert (marker.rest, marker.column) in found, f"{marker.where}: {sorted(found)}"
        return
    if marker.verb == "place":
        role, _, dispatch_key = marker.rest.partition(" ")
        answer = trace(view, case.said("ask", ""))
        here = [i for i in answer.items if (i.file, i.line) == (marker.path, marker.line)]
        said = {(i.role, i.dispatch_key) for i in here} | {(i.role, "") for i in here}
        assert (role, dispatch_key) in said, f"{marker.where}: {said or listed(answer)}"
        return
    verb, _, focus = marker.verb.partition(" ")
    is_focus = verb == "trace" and focus in ("yaml", "dispatch")
    answer = trace(view, marker.name, focus if is_focus else "full")  # type: ignore[arg-type]
    if marker.verb == "not found":
        assert not answer.found, f"{marker.where}: {answer.subjects}"
        return
    assert answer.found, f"{marker.where}: nothing is called {marker.name}; near: {answer.nearest}"
    passed = list(steps(answer))
    names = {name for step in passed for name in spellings(step)}
    if marker.verb == "no trace":
        wrong = [step for step in marker.rest.split(", ") if step in names]
        assert not wrong, f"{marker.where}: {wrong} in\n{listed(answer)}"
    elif marker.verb == "traces":
        missing = [step for step in marker.rest.split(", ") if step not in names]
        assert not missing, f"{marker.where}: {missing} not in\n{listed(answer)}"
    else:
        at = 0
        for step in marker.rest.split(" > "):
            rest = [n for n in range(at, len(passed)) if step in spellings(passed[n])]
            assert rest, f"{marker.where}: no {step} behind {passed[:at]} in\n{listed(answer)}"
            at = rest[0] + 1


def steps(answer: Answer) -> Iterator[str]:
    """All names that an answer passes through, in the order of its layers."""
    for subject in answer.subjects:
        if subject.answered:
            yield subject.name
            yield from subject.overloads
    for item in answer.items:
        yield from item.operators
        yield from (part for part in item.via.split(" > ") if part)
        yield item.symbol


def spellings(name: str) -> set[str]:
    return {name, name.rpartition("::")[2], name.rpartition("::")[2].rpartition(".")[2]}


def listed(answer: Answer) -> str:
    return "\n".join(
        f"  {i.role} {i.symbol} [{i.dispatch_key}] {i.file}:{i.line} {i.via}" for i in answer.items
    )


def dump(folder: Path) -> list[tuple[object, ...]]:
    """All facts of a store, by path, whatever ids they were given."""
    database = sqlite3.connect(next(folder.glob("*.db")))
    files: dict[int, str] = dict(database.execute("SELECT id, path FROM file"))
    found: list[tuple[object, ...]] = []
    for table in ("definition", "target", "reference"):
        for row in database.execute(f"SELECT * FROM {table}"):
            values = list(row)
            path = files[values[0] >> 20]
            values[0] = values[0] & ((1 << 20) - 1)
            if table == "target":
                values[1] = values[1] & ((1 << 20) - 1)
            found.append((table, path, *values))
    database.close()
    return sorted(found, key=repr)


def test_a_marker_is_about_the_name_above_its_carets() -> None:
    text = "y = torch.mul(a, b)\n#         ^^^ trace: aten::mul > mul_kernel\n"
    (marker,) = markers("train.py", text)
    assert (marker.name, marker.line, marker.column, marker.verb) == ("torch.mul", 1, 10, "trace")
    assert marker.rest == "aten::mul > mul_kernel"


def test_versions_and_prose_are_told_apart() -> None:
    case = read_case("Shows it.\nask: add.out\n\n-- a.py --\nx = 1\n-- a.py@2 --\nx = 2\n-- b.py@2 --\n")
    assert case.said("ask", "") == "add.out"
    assert case.versions == {1: {"a.py": "x = 1\n"}, 2: {"a.py": "x = 2\n", "b.py": ""}}
