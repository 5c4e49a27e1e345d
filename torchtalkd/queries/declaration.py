"""Where what a place means is declared: an operator's schema, the entries that name a kernel, a header."""

from __future__ import annotations

from collections.abc import Iterator

from torchtalkd.facts import FiledDefinition
from torchtalkd.queries import trace_names
from torchtalkd.queries.answers import Item, Subject
from torchtalkd.queries.collect import place_of
from torchtalkd.queries.definition import asked, each_once, schemas
from torchtalkd.queries.meant import Meant
from torchtalkd.store.view import View


def declaration(view: View, meant: Meant) -> list[Item]:
    """The places, entries of yaml first."""
    found: list[Item] = []
    for subject in asked(meant):
        if subject.kind == "operator":
            found.extend(schemas(view, subject, meant)[: 1 if meant.passed else None])
        else:
            found.extend(_of(view, subject))
    return each_once(found)


def _of(view: View, subject: Subject) -> Iterator[Item]:
    definitions = [d for number in subject.ids if (d := view.definition(number)) is not None]
    bodies = [d for d in definitions if not d.fact.declares]
    yield from (item for item, _ in named_by(view, bodies))
    for other in view.definitions(definitions[0].fact.key) if definitions else ():
        if other.fact.declares and other.fact.name == subject.name and other.file.role != "template":
            yield place_of(trace_names.role_of(other), other, "exact")


def named_by(view: View, definitions: list[FiledDefinition]) -> Iterator[tuple[Item, FiledDefinition]]:
    """The bindings that name one of some definitions of one key: where, and which."""
    wanted = {d.id for d in definitions}
    for target in view.targeting(definitions[0].fact.key) if definitions else ():
        owner = view.definition(target.owner)
        if owner is None or owner.file.role == "template" or owner.fact.kind in ("alias", "macro_use"):
            continue
        named = owner.fact.kind != "derivative" and trace_names.meant(view, owner, target.fact.name)
        if named and wanted & set(named):
            role = "yaml" if owner.fact.convention == "native_functions" else "registration"
            yield place_of(role, owner, "declared"), owner
