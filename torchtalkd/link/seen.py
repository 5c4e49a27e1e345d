"""Does a file see what another one declares, through its `#include` lines?

A name can only mean what is in sight: a function or class that no header on the way declares is another
translation unit's. Both branches of each `#if` count, and headers themselves see all, as what includes them
may include anything before.
"""

from __future__ import annotations

from typing import Final

from torchtalkd import keys
from torchtalkd.facts import File, FiledDefinition
from torchtalkd.link import includes
from torchtalkd.link.source import Facts

_CODE: Final = frozenset({"cpp", "cuda", "objcpp"})


def is_seen(facts: Facts, definition: FiledDefinition, file: File) -> bool:
    """Whether a file sees a function or a class: it declares or defines it itself, or takes in a header
    that does. What is a header, or no C++, sees everything."""
    if definition.file.id == file.id or file.language not in _CODE or includes.is_header(file.path):
        return True
    return bool(_seeing(facts, definition) >> file.id & 1)


def _seeing(facts: Facts, definition: FiledDefinition) -> int:
    """The files that see a definition, as bits by their ids."""
    kept: dict[str, int] = facts.kept.setdefault("seeing", {})
    name = _outermost(facts, definition.fact.name)
    found = kept.get(name)
    if found is None:
        found = 0
        for same in facts.named(keys.cpp(name), name):
            found |= _taking_in(facts, same.file)
        kept[name] = found
    return found


def _outermost(facts: Facts, name: str) -> str:
    """The full name of the class that a member belongs to, else the name itself."""
    around = name.rpartition("::")[0]
    if around and any(
        d.fact.kind in ("class", "autograd_function") for d in facts.named(keys.cpp(around), around)
    ):
        return around
    return name


def _taking_in(facts: Facts, header: File) -> int:
    """The files that include one, through any number of others, and itself."""
    kept: dict[int, int] = facts.kept.setdefault("taking_in", {})
    found = kept.get(header.id)
    if found is None:
        files = {header.path: header}
        waiting = [header]
        found = 1 << header.id
        while waiting:
            for includer in _including(facts, waiting.pop()):
                if includer.path not in files:
                    files[includer.path] = includer
                    found |= 1 << includer.id
                    waiting.append(includer)
        kept[header.id] = found
    return found


def _including(facts: Facts, header: File) -> list[File]:
    """The files that may include one directly."""
    kept: dict[int, list[File]] = facts.kept.setdefault("including", {})
    found = kept.get(header.id)
    if found is None:
        files = {
            reference.file.id: reference.file
            for reference in facts.references(keys.file(header.path))
            if reference.fact.kind == "include"
            # What is generated from a template is included from a folder that is not in the tree.
            and (
                header.role == "template"
                or includes.may_mean(reference.fact.name, reference.file.path, header.path)
            )
        }
        found = kept[header.id] = list(files.values())
    return found
