"""problems: what of a tree's operators cannot be right, each with its place.

Only what the source itself contradicts: an entry whose kernel nobody defines, an implementation of an
operator that nobody declares, and so on. The tests are `tests/test_problems.py`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

from torchtalkd.queries import problem_entries, problem_registrations
from torchtalkd.queries.answers import Standalone, Standing, standing
from torchtalkd.queries.problem import Finding
from torchtalkd.store.view import View


@dataclass(frozen=True, slots=True)
class ProblemsAnswer(Standalone):
    """The answer to `problems`."""

    findings: tuple[Finding, ...]
    """By file and line."""
    standing: Standing

    @property
    def cited(self) -> tuple[str, ...]:
        """The files that it names."""
        return tuple({finding.file for finding in self.findings})

    def without(self, moved: frozenset[str]) -> ProblemsAnswer:
        """Without those in files that moved on."""
        return replace(self, findings=tuple(f for f in self.findings if f.file not in moved))


def problems(view: View) -> ProblemsAnswer:
    """All that is found. Read-only; it looks at every operator, which takes seconds in a large tree."""
    distinct = {(f.file, f.line, f.kind, f.message): f for f in _all(view)}
    return ProblemsAnswer(tuple(distinct[place] for place in sorted(distinct)), standing(view))


def as_json(answer: ProblemsAnswer) -> dict[str, Any]:
    """The object of `--json`."""
    return {
        "problems": [asdict(finding) for finding in answer.findings],
        "counts": dict(Counter(finding.kind for finding in answer.findings)),
        "revision": answer.standing.revision,
        "complete": answer.standing.complete,
    }


def _all(view: View) -> Iterator[Finding]:
    for path, unread in view.problems_of_languages(("native_functions", "derivatives", "tags")):
        yield Finding("unreadable entry", path, unread.line, unread.message)
    yield from problem_entries.entries_without_kernel(view)
    yield from problem_entries.stubs_without_kernel(view)
    yield from problem_entries.derivatives_of_nothing(view)
    yield from problem_registrations.undeclared(view)
    yield from problem_registrations.registered_twice(view)
    yield from problem_registrations.without_fake(view)
