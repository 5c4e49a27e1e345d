"""Device kernels written in Python: which ones a function launches, and who launches one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from torchtalkd.facts import FiledDefinition
from torchtalkd.link import python_reach
from torchtalkd.queries.answers import Item
from torchtalkd.queries.collect import place_of
from torchtalkd.store.view import View

MOST_USERS = 24
"""Functions that are named as users of a kernel."""


def launched_items(
    view: View, function: FiledDefinition, operator: str = "", dispatch_key: str = ""
) -> Iterator[Item]:
    """The device kernels that a Python function launches, itself or through helpers."""
    for end in python_reach.reached(view, function):
        if end.kernel is not None:
            item = place_of(
                "gpu_kernel",
                end.kernel,
                end.evidence,
                operator=operator,
                dispatch_key=dispatch_key,
                via=" > ".join(end.via),
                note="named as a value" if end.evidence == "candidate" else "",
            )
            yield replace(item, signature="")


def user_items(view: View, definition: FiledDefinition) -> Iterator[Item]:
    """The Python functions that launch a kernel or apply an autograd function."""
    is_kernel = definition.fact.kind == "kernel"
    for owner, reference in python_reach.users(view, definition)[:MOST_USERS]:
        word = "launches it" if reference.fact.kind == "launch" else "uses it" if is_kernel else "applies it"
        note = f"{word} on line {reference.fact.line}"
        yield place_of("python", owner, "declared", note=note)
