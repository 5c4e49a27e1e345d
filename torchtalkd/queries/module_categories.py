"""Which classes are of a category: those that inherit from its bases, here or by a framework's name."""

from __future__ import annotations

from torchtalkd.facts import Category, FiledDefinition
from torchtalkd.link import python_classes, python_names
from torchtalkd.store.view import View


def category_classes(view: View, category: Category, *, everywhere: bool = False) -> list[FiledDefinition]:
    """The library's classes of a category, by name; its bases are none of them. With `everywhere` also
    those that are not defined below the category's modules."""
    kept: dict[tuple[str, bool], list[FiledDefinition]] = view.kept.setdefault("category_classes", {})
    found = kept.get((category.name, everywhere))
    if found is None:
        classes = {
            cls.id: cls
            for base in category.bases
            for cls in python_classes.descendants_named(view, base, library=True)
            if everywhere or is_under(cls, category)
        }
        for base in category.bases:
            for end in python_names.resolve(view, base).ends:
                classes.pop(end.id, None)
        found = kept[category.name, everywhere] = sorted(classes.values(), key=by_name)
    return found


def is_under(cls: FiledDefinition, category: Category) -> bool:
    """Whether a class is defined where the category's classes are listed from."""
    name = cls.fact.name
    return not category.under or any(name.startswith(module + ".") for module in category.under)


def categories_of(view: View, cls: FiledDefinition) -> list[Category]:
    """The categories whose bases a class inherits from or is, in the manifest's order."""
    above = python_classes.ancestry(view, cls)
    names = {one.fact.name for one in above}
    for one in above:
        names |= {reference.fact.name for reference in python_classes.base_names(view, one)}
    found = []
    for category in view.rules.categories:
        ends = {end.id for base in category.bases for end in python_names.resolve(view, base).ends}
        if names.intersection(category.bases) or any(one.id in ends for one in above):
            found.append(category)
    return found


def by_name(definition: FiledDefinition) -> tuple[str, str, str, int]:
    """The order of lists: as in a dictionary, by what people call it."""
    last = definition.fact.name.rpartition(".")[2]
    return last.strip("_").casefold(), last, definition.file.path, definition.fact.line
