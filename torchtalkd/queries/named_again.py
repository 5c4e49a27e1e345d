"""A subject of an earlier answer, found again in the view of now."""

from __future__ import annotations

from torchtalkd.queries.answers import Subject
from torchtalkd.queries.locate import operator_subject
from torchtalkd.queries.subjects import of_definitions
from torchtalkd.store.view import View


def named_again(view: View, kind: str, name: str, path: str, line: int) -> Subject | None:
    """The subject of a kind and full name; of several definitions with the name in the file the one
    nearest to the line where it stood. None where it is no more."""
    if kind == "operator":
        return operator_subject(view, name)
    file = view.file(path)
    named = [d for d in (view.definitions_in(file) if file else ()) if d.fact.name == name]
    if kind == "stub":
        found = [d for d in named if d.fact.kind in ("stub", "stub_kernel")]
        if not found:
            return None
        same = [d for d in view.definitions(found[0].fact.key) if d.fact.name == name]
        return of_definitions("stub", name, [d for d in same if d.fact.kind in ("stub", "stub_kernel")])
    if not named:
        return None
    nearest = min(named, key=lambda d: (d.fact.declares, abs(d.fact.line - line)))
    return of_definitions(kind, name, [nearest])
