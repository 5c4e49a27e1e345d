"""affected: which tests may fail because something changed, and why each.

Asked with names of functions, or with what changed in files. Nothing that the change can break is left out:
what cannot be followed counts as reached. The tests are in `tests/test_affected.py`; how much is found
and how much is selected on PyTorch `python -m tests.bench.affected` measures.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from fnmatch import fnmatchcase
from typing import Any, Final

from torchtalkd.facts import File, FiledDefinition
from torchtalkd.queries.affected_tests import AffectedTest, cpp_tests, selected
from torchtalkd.queries.affected_walk import Goal, Reached, walk
from torchtalkd.queries.answers import Standalone, Standing, standing
from torchtalkd.queries.changed import (
    Changed,
    ChangedFile,
    Thing,
    change_constant,
    changed,
    is_constant,
)
from torchtalkd.queries.graph_starts import graph_starts
from torchtalkd.queries.runs.table import Runs, runs
from torchtalkd.store.view import View

DEPTH: Final = 3
"""Steps for which nobody says how many."""


@dataclass(frozen=True, slots=True)
class ChangedThing:
    """What changed, or was named."""

    name: str
    kind: str
    file: str
    line: int


@dataclass(frozen=True, slots=True)
class AffectedAnswer(Standalone):
    """The answer to `affected`."""

    query: tuple[str, ...]
    """The names that were asked for."""
    depth: int
    things: tuple[ChangedThing, ...]
    tests: tuple[AffectedTest, ...]
    """Test files of Python by path, then those of C++."""
    total: int
    """Test files of Python that there are."""
    standing: Standing
    everything: tuple[str, ...] = ()
    """Why all tests have to run: nothing can be narrowed."""
    notes: tuple[str, ...] = ()
    """What could not be followed and counts as reached; what was passed over."""
    refused: frozenset[str] = frozenset()
    """Of the test files those that the framework's own runner does not take by their names."""
    missing: tuple[str, ...] = ()
    """Names that nothing has."""
    nearest: tuple[str, ...] = ()
    error: str = ""

    @property
    def found(self) -> bool:
        """Whether each name is that of something."""
        return not self.missing

    @property
    def cited(self) -> tuple[str, ...]:
        """The files that it names."""
        return (*(thing.file for thing in self.things), *(test.file for test in self.tests))

    def without(self, moved: frozenset[str]) -> AffectedAnswer:
        """Without places in files that moved on; a test file stays selected."""
        return replace(self, things=tuple(thing for thing in self.things if thing.file not in moved))


def affected(
    view: View, names: Sequence[str] = (), files: Iterable[ChangedFile] = (), depth: int = DEPTH
) -> AffectedAnswer:
    """The tests that a change reaches. Read-only. `depth`: steps from the change for which names that may
    mean many things are followed; what one name means is followed however far."""
    said = AffectedAnswer(tuple(names), depth, (), (), 0, standing(view))
    if not 1 <= depth <= _DEEPEST:
        return replace(said, error=f"depth {depth}: from 1 to {_DEEPEST}")
    told = changed(view, files)
    missing: list[str] = []
    nearest: tuple[str, ...] = ()
    for name in names:
        meant, spelled = graph_starts(view, name)
        if not meant:
            missing.append(name)
            nearest = nearest or spelled
        for subject, nodes in meant:
            first = nodes[0]
            if is_constant(first):
                for node in nodes:
                    change_constant(view, told, node)
                continue
            told.things.append(
                Thing(subject.name, subject.kind, first.file.path, first.fact.line, tuple(nodes))
            )
    if missing:
        return replace(said, missing=tuple(missing), nearest=nearest)
    table = runs(view)
    things = tuple(ChangedThing(t.name, t.kind, t.file, t.line) for t in told.things)
    said = replace(said, things=things, total=len(table.tests))
    if told.everything:
        everything = tuple(dict.fromkeys(told.everything))
        notes, whole = tuple(_passed_over(told)), _all(table)
        return replace(said, everything=everything, tests=whole, notes=notes, refused=_refused(view, whole))
    reached = walk(view, table, _starts(told), depth)
    _add_siblings(view, table, told, reached, depth)
    _add_modules(table, told, reached)
    tests = (*selected(view, table, reached, told.tests), *cpp_tests(view, reached))
    notes = (*dict.fromkeys(reached.unresolved), *_passed_over(told))
    return replace(said, tests=tests, notes=notes, refused=_refused(view, tests))


def _refused(view: View, tests: Iterable[AffectedTest]) -> frozenset[str]:
    """The test files of Python that the framework's own runner refuses. The files that import their classes
    are selected beside them."""
    rules = view.rules.tests
    found = []
    for test in tests:
        name = test.file.partition("/")[2].removesuffix(".py")
        taken = not rules.runner_names or any(fnmatchcase(name, p) for p in rules.runner_names)
        if not taken or any(fnmatchcase(name, pattern) for pattern in rules.runner_leaves):
            found.append(test.file)
    return frozenset(found)


_DEEPEST: Final = 20


def _starts(told: Changed) -> list[FiledDefinition]:
    return [node for thing in told.things for node in thing.nodes]


def _add_siblings(view: View, table: Runs, told: Changed, reached: Reached, depth: int) -> None:
    """Where nothing is seen to call a function of C++, whatever reaches its file counts as reaching it."""
    for thing in told.things:
        alone = thing.nodes and not any(
            s.before or g.at == n.id
            for n in thing.nodes
            for s in [reached.steps[n.id]]
            for g in reached.goals
        )
        if not alone or len(told.things) > 1 or reached.bits or reached.cpp:
            continue
        file: File | None = view.file(thing.file)
        if file is None or file.language == "python" or file.role == "test":
            continue
        others = [d for d in view.definitions_in(file) if d.fact.kind in _BODIES and not d.fact.declares]
        further = walk(view, table, others, depth)
        reached.bits |= further.bits
        reached.goals.extend(further.goals)
        reached.cpp.update(further.cpp)
        reached.steps.update({n: s for n, s in further.steps.items() if n not in reached.steps})
        reached.unresolved.append(
            f"nothing is seen to call {thing.name}: what reaches another function of {thing.file}"
            " counts as reaching it"
        )


_BODIES: Final = ("function", "kernel", "structured_impl", "structured_meta")


def _add_modules(table: Runs, told: Changed, reached: Reached) -> None:
    """Who imports a module of Python is affected by what stands at its top."""
    for thing in told.things:
        file = thing.nodes[0].file.id if thing.module and thing.nodes else -1
        bits = table.imported.get(file, 0)
        if bits & ~reached.bits:
            reached.bits |= bits
            reached.goals.append(Goal(-1, bits, thing.nodes[0].id))
            reached.imports[thing.name] = bits


def _all(table: Runs) -> tuple[AffectedTest, ...]:
    return tuple(AffectedTest(file.path, "everything", (), ()) for file in table.tests)


def _passed_over(told: Changed) -> list[str]:
    notes = []
    if told.nothing:
        notes.append(f"no code changed in {_listed(told.nothing)}")
    if told.unknown:
        notes.append(f"nothing is known of {_listed(told.unknown)}: no test was selected for it")
    return notes


def _listed(paths: list[str]) -> str:
    more = f" and {len(paths) - 3} more" if len(paths) > 3 else ""
    return ", ".join(paths[:3]) + more


def as_json(answer: AffectedAnswer) -> dict[str, Any]:
    """The object that `--json` prints."""
    return {
        "query": list(answer.query),
        "depth": answer.depth,
        "everything": list(answer.everything),
        "changed": [asdict(thing) for thing in answer.things],
        "tests": [asdict(test) for test in answer.tests],
        "selected": sum(not test.cpp for test in answer.tests),
        "total": answer.total,
        "notes": list(answer.notes),
        "missing": list(answer.missing),
        "nearest": list(answer.nearest),
        "revision": answer.standing.revision,
        "commit": answer.standing.commit,
        "waiting": answer.standing.waiting,
        "complete": answer.standing.complete and not answer.standing.waiting,
        "error": answer.error,
    }
