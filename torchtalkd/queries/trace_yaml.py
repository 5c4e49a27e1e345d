"""The schema layer of a trace: the yaml entry or m.def of each overload."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from torchtalkd.link.operators import Family
from torchtalkd.queries.answers import Item
from torchtalkd.queries.collect import place_of
from torchtalkd.store.view import View

_SAID = (
    "structured",
    "structured_delegate",
    "structured_inherits",
    "python_module",
    "manual_kernel_registration",
)


def yaml_items(view: View, family: Family, overloads: frozenset[str]) -> Iterator[Item]:
    """The entry of each overload, in the order of the text; those that `autogen` makes last."""
    for entry in family.entries:
        fact = entry.fact
        name = family.full_name(entry)
        if name not in overloads:
            continue
        detail = fact.detail or {}
        block = view.scope(entry) if fact.kind == "schema" else None
        notes = [f"{name}: {detail[name]}" for name in _SAID if detail.get(name)]
        if "autogen_of" in detail:
            notes.append(f"generated from {detail['autogen_of']} (autogen)")
        variants = detail.get("variants")
        if variants:
            notes.append(f"variants: {', '.join(variants)}")
        tags = detail.get("tags")
        if tags:
            notes.append(f"tags: {', '.join(tags)}")
        item = place_of("yaml", entry, "exact", operator=name, note="; ".join(notes), symbol=name)
        in_block = block is not None and block.fact.kind == "library"
        yield replace(item, block_line=block.fact.line) if block is not None and in_block else item
