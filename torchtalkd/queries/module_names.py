"""Which classes and functions of Python a name means: exact before fuzzy, public before private."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from rapidfuzz import fuzz, process

from torchtalkd import keys
from torchtalkd.facts import FiledDefinition
from torchtalkd.link import python_names
from torchtalkd.queries.module_categories import category_classes, is_under
from torchtalkd.queries.nearest import LEAST_RATIO, MOST, nearest
from torchtalkd.store.view import View

_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+")
_SHORTEST: Final = 3
"""Letters of a text that names which only contain it are searched for."""


class Found(NamedTuple):
    """A class or function that a name means."""

    definition: FiledDefinition
    alias: FiledDefinition | None
    """The assignment that the name is, for a bound function."""


def module_names(view: View, name: str) -> list[Found]:
    """What is called exactly so, the likeliest first: with a dot the full name, in any spelling that
    the rules know; without one every class of the library, then functions of the categories' modules.
    Letters' case and leading underscores only count where nothing fits with them."""
    if "." in name:
        found = [one for full in python_names.canonical(view, name) for one in _full(view, full)]
        if found:
            return _once(found)
        # `linear.Linear`, `lr_scheduler.StepLR`: the end of a full name.
        ending = "." + name
        last = name.rpartition(".")[2]
        return [one for one in _bare(view, last) if one.definition.fact.name.endswith(ending)]
    return _bare(view, name) or _alike(view, name) or _functions(view, name)


def _full(view: View, full: str) -> list[Found]:
    resolution = python_names.resolve(view, full)
    alias = next((hop for hop in resolution.hops if hop.fact.name == full), None)
    wrapped = alias if alias is not None and not (alias.fact.detail or {}).get("import") else None
    found = []
    for end in resolution.ends:
        if end.fact.kind in ("class", "function", "kernel"):
            found.append(Found(end, None))
        elif end.fact.kind == "python_binding" and not any(one.alias for one in found):
            found.append(Found(end, wrapped))
    bodies = [one for one in found if one.definition.fact.kind != "python_binding"]
    return bodies or found[:1]


def _bare(view: View, name: str) -> list[Found]:
    classes = [
        d
        for d in view.definitions(keys.py(name))
        if d.fact.kind == "class" and d.file.language == "python" and d.file.role != "template"
    ]
    own = [d for d in classes if d.file.role == "library"] or classes
    found = [Found(d, None) for d in sorted(own, key=lambda d: _rank(view, d))]
    modules = dict.fromkeys(m for category in view.rules.categories for m in category.functions)
    for module in modules:
        found += _full(view, f"{module}.{name}")
    if not found:
        # Another name of a class: `torch.optim.lr_scheduler._LRScheduler` of old.
        for target in view.definitions(keys.py(name)):
            if target.fact.kind == "alias" and target.file.role == "library":
                ends = python_names.resolve(view, target.fact.name).ends
                found += [Found(end, None) for end in ends if end.fact.kind == "class"]
    return _once(found)


def _functions(view: View, name: str) -> list[Found]:
    """The functions of the library's modules that are called so, the publicest first."""
    found = [
        d
        for d in view.definitions(keys.py(name))
        if d.fact.kind in ("function", "kernel") and d.file.role == "library"
    ]
    own = [d for d in found if (around := view.scope(d)) is not None and around.fact.kind == "module"]
    return [Found(d, None) for d in sorted(own, key=lambda d: _rank(view, d))]


def _rank(view: View, cls: FiledDefinition) -> tuple[int, int, int, int, str, int]:
    """A listed class of a category before others, a public one before those of private modules and of
    functions, a short name before a long one."""
    listed = len(view.rules.categories)
    for number, category in enumerate(view.rules.categories):
        if category.under and is_under(cls, category):
            listed = number
            break
    parts = cls.fact.name.split(".")
    around = view.scope(cls)
    inner = around is not None and around.fact.kind != "module"
    private = sum(part.startswith("_") for part in parts[:-1])
    return listed, int(inner), private, len(parts), cls.file.path, cls.fact.line


def _alike(view: View, name: str) -> list[Found]:
    """Classes whose names differ from the asked one in case and leading underscores alone."""
    wanted = name.strip("_").casefold()
    begins = {begin + letter for begin in ("", "_", "__") for letter in (wanted[:1], wanted[:1].upper())}
    found = []
    for begin in sorted(begins) if wanted else ():
        for key in view.keys("py", begin):
            last = keys.last(key)
            if last.strip("_").casefold() == wanted and last != name:
                found += _bare(view, last)
    return _once(found)


def containing(view: View, text: str) -> list[FiledDefinition]:
    """The classes of the library whose names contain a text, ignoring case. Those that are it or begin with
    it come first, then those that a category lists, short names before long ones."""
    wanted = text.casefold()
    last = wanted.rpartition(".")[2]
    if len(last.strip("_")) < _SHORTEST:
        return [one.definition for one in _bare(view, text) if one.definition.fact.kind == "class"]
    found = {
        d.id: d
        for key in view.keys("py")
        if last in key.casefold() and last in keys.last(key).casefold()
        for d in view.of_kind(key, "class")
        if d.file.role == "library" and wanted in d.fact.name.casefold()
    }
    return sorted(
        found.values(),
        key=lambda d: (_likeness(wanted, d), *_rank(view, d)[:3], len(_last(d)), _last(d), d.file.path),
    )


def _likeness(wanted: str, cls: FiledDefinition) -> int:
    last = _last(cls)
    exact = wanted.rpartition(".")[2]
    if last.casefold() == exact:
        return 0
    bare = last.strip("_").casefold()
    if bare == exact or bare.startswith(exact):
        return 1 if bare == exact else 2
    return 3 if begins_a_word(exact, last) else 4


def begins_a_word(text: str, name: str) -> bool:
    """Whether a text, ignoring case, begins one of the words that a name is made of: adam in NAdam, not nms
    in PythonMsg."""
    starts = (match.start() for match in _WORD.finditer(name))
    return any(name.casefold().startswith(text.casefold(), start) for start in starts)


def _last(cls: FiledDefinition) -> str:
    return keys.last(cls.fact.key)


def _once(found: list[Found]) -> list[Found]:
    return list({one.definition.id: one for one in reversed(found)}.values())[::-1]


def spelled_alike(view: View, name: str) -> list[str]:
    """Names of listed classes that are spelled like one that does not exist, the likest first; then those
    of anything else."""
    classes = (
        cls for category in view.rules.categories for cls in category_classes(view, category, everywhere=True)
    )
    choices = dict.fromkeys(map(_last, classes))
    last = name.rpartition(".")[2]
    likest = process.extract(last, list(choices), scorer=fuzz.ratio, limit=MOST, score_cutoff=LEAST_RATIO)
    same = [name for name in choices if name.casefold() == last.casefold()]
    found = dict.fromkeys((*same, *(like for like, _, _ in likest)))
    return list(dict.fromkeys((*found, *nearest(view, name))))[:MOST]
