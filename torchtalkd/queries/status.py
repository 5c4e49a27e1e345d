"""status: what the index is, how much is in it, what could not be read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from torchtalkd.queries.answers import StatusAnswer, standing
from torchtalkd.queries.exact_standing import exact_standing
from torchtalkd.queries.external import external
from torchtalkd.store.view import View

SAMPLES = 20
"""Problems that are shown as they are; the rest is a number."""


def prepare(view: View) -> Iterator[None]:
    """Counts what there is, before somebody asks, in pieces."""
    if "counts" not in view.kept:
        found: Counter[str] = Counter()
        for some in view.counts_in_pieces():
            found.update(some)
            yield
        view.kept["counts"] = dict(found)


def status(view: View) -> StatusAnswer:
    """The state of the index that a view looks at. Read-only."""
    counts = view.counts()
    files = counts.pop("files", 0)
    problems = counts.pop("problems", 0)
    return StatusAnswer(
        standing=standing(view),
        root=view.meta("root"),
        harness=view.rules.harness or view.meta("harness"),
        version=view.rules.version,
        files=files,
        counts=dict(sorted(counts.items(), key=lambda pair: -pair[1])),
        problems=problems,
        external=tuple(external(view)),
        exact=exact_standing(view),
        problem_samples=tuple((path, p.line, p.kind, p.message) for path, p in view.problems(SAMPLES)),
    )
