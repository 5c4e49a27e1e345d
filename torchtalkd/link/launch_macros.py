"""What hides a launch from the text of a body: macros that hold it, methods that do it.

`LAUNCH(float, 128)` may hold `f<T><<<grid, block>>>(…)`, or other macros that do; what a macro of the
same file calls is called by the body that uses it. (A framework's own macros, in its headers, are
checks and dispatches over types: of them only those that launch count.)
"""

from __future__ import annotations

import re
from typing import Final

from torchtalkd import keys
from torchtalkd.facts import FiledDefinition, FiledReference
from torchtalkd.link import functions
from torchtalkd.link.source import Facts


def launched_by(facts: Facts, key: str, body: FiledDefinition) -> tuple[str, ...]:
    """The device kernels that a macro used in a body launches by name: `f<T><<<grid, block>>>(…)`."""
    kept: dict[tuple[str, int], tuple[str, ...]] = facts.kept.setdefault("launch_macros", {})
    found = kept.get((key, body.file.id))
    if found is None:
        macros = [d for d in facts.of_kind(key, "macro") if functions.visible(d, body.file)]
        own_macros = [d for d in macros if d.file.id == body.file.id]
        names: dict[str, None] = {}
        for macro in own_macros or macros[:1]:
            detail = macro.fact.detail or {}
            text = str(detail.get("body") or "")
            parts = text.split("<<<")[:-1]
            names.update(
                (name, None) for part in parts if (name := _called(part)) not in detail["parameters"]
            )
        names.pop("", None)
        found = kept[key, body.file.id] = tuple(names)
    return found


def own(facts: Facts, key: str, body: FiledDefinition) -> list[FiledDefinition]:
    """The definitions of a macro in the file of the body that uses it; several, under an #if each."""
    return [d for d in facts.of_kind(key, "macro") if d.file.id == body.file.id]


def only_method(facts: Facts, reference: FiledReference, body: FiledDefinition) -> list[FiledDefinition]:
    """The method that a call of an unknown receiver means, where the tree, or what the file includes,
    has one method of that name.

    Not in a tree that declares operators in yaml: there `x.f()` is most often a call of one.
    """
    if reference.fact.kind != "method" or _has_yaml(facts):
        return []
    if facts.count(reference.fact.key, _FEW) >= _FEW:
        return []
    found = [
        d
        for d in facts.definitions(reference.fact.key)
        if d.fact.kind == "function"
        and not d.fact.declares
        and functions.visible(d, body.file)
        and ("::" in d.fact.name or (d.fact.detail or {}).get("method"))
    ]
    if len(found) > 1:
        included = {r.fact.key for r in facts.references_of_kind(body.file, "include")}
        found = [d for d in found if d.file.id == body.file.id or keys.file(d.file.path) in included]
    return found if len(found) == 1 else []


def _has_yaml(facts: Facts) -> bool:
    found: bool | None = facts.kept.get("has_yaml")
    if found is None:
        found = facts.kept["has_yaml"] = bool(facts.keys_of_kind("operator"))
    return found


_FEW: Final = 6
"""Definitions and declarations of a name; with more it is everybody's."""


def _called(text: str) -> str:
    """The name that a text ends in, template arguments left out: `…; ns::f<T, true>` → ns::f."""
    found = _NAME.search(keys.before_template_arguments(text))
    return found[0] if found else ""


_NAME: Final = re.compile(r"[A-Za-z_][\w:]*$")
