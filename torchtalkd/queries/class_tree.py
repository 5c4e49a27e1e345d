"""What a class inherits from, and what inherits from it: modules, autograd functions, C++ classes."""

from __future__ import annotations

from torchtalkd import keys
from torchtalkd.facts import FiledDefinition
from torchtalkd.link import functions, python_names
from torchtalkd.link.scopes import scopes_of
from torchtalkd.queries.meant import Meant
from torchtalkd.store.view import View


def classes(view: View, meant: Meant) -> list[FiledDefinition]:
    """The classes that a place means."""
    found = [d for subject in meant.subjects for n in subject.ids if (d := view.definition(n)) is not None]
    return [d for d in found if d.fact.kind in ("class", "autograd_function")]


def supertypes(view: View, cls: FiledDefinition) -> list[FiledDefinition]:
    """The classes that it names as its bases."""
    found: dict[int, FiledDefinition] = {}
    for reference in view.references_of_kind(cls.file, "base"):
        if reference.owner != cls.id:
            continue
        if cls.file.language == "python":
            ends = python_names.resolve(view, reference.fact.name).ends
            found.update((end.id, end) for end in ends if end.fact.kind == "class")
        else:
            scopes = scopes_of(view, reference, cls)
            named = functions.functions(view, reference.fact.name, scopes, file=cls.file, kinds=("class",))
            found.update((d.id, d) for d in named)
    return list(found.values())


def subtypes(view: View, cls: FiledDefinition) -> list[FiledDefinition]:
    """The classes of the tree that name it as a base, those of the library before those of tests."""
    found: dict[int, FiledDefinition] = {}
    known: dict[str, bool] = {}
    for reference in view.references(cls.fact.key):
        if reference.fact.kind != "base" or reference.owner < 0:
            continue
        owner = view.definition(reference.owner)
        if owner is None or owner.fact.kind not in ("class", "autograd_function"):
            continue
        if cls.file.language == "python":
            name = reference.fact.name
            if name not in known:
                known[name] = any(end.id == cls.id for end in python_names.resolve(view, name).ends)
            fits = known[name]
        else:
            scopes = scopes_of(view, reference, owner)
            named = functions.functions(view, reference.fact.name, scopes, file=owner.file, kinds=("class",))
            fits = any(d.id == cls.id for d in named)
        if fits and keys.space(owner.fact.key) == keys.space(cls.fact.key):
            found[owner.id] = owner
    return sorted(found.values(), key=lambda d: (d.file.role != "library", d.file.path, d.fact.line))
