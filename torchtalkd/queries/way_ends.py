"""Which libraries outside the tree a kernel hands its work to: told by the names that it calls."""

from __future__ import annotations

from typing import Final

from torchtalkd.facts import FiledDefinition
from torchtalkd.link import functions, reach
from torchtalkd.store.view import View

_MOST_HELPERS: Final = 12


def libraries_called(view: View, kernel: FiledDefinition) -> list[str]:
    """The libraries of `link.libraries` that a kernel, or a helper of its file, calls; each once."""
    names = view.rules.libraries
    if not names:
        return []
    found: dict[str, None] = {}
    waiting, seen = [kernel], {kernel.id}
    while waiting:
        body = waiting.pop(0)
        scopes = functions.enclosing(body.fact.name)
        for reference in view.inside(body):
            last = reference.fact.name.rpartition("::")[2]
            for library, begins in names.items():
                if last.startswith(begins) or reference.fact.name.startswith(begins):
                    found.setdefault(library)
            if reference.fact.kind == "call" and len(seen) <= _MOST_HELPERS:
                for helper in reach.helpers(view, reference, body, scopes, kernel):
                    if helper.id not in seen:
                        seen.add(helper.id)
                        waiting.append(helper)
    return list(found)
