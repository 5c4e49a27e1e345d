"""device_kernels: the kernels that run on a CUDA device, all of them or those of a name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from torchtalkd.queries.answers import Answer, Item, Subject, standing
from torchtalkd.queries.collect import place_of
from torchtalkd.queries.search import search
from torchtalkd.store.view import View

_LANGUAGE: Final = "cuda"
_KEY: Final = "CUDA"
_ALL: Final = 1_000_000


def device_kernels(view: View, text: str = "", limit: int = 10) -> Answer:
    """The kernels of the dispatch key CUDA, and the device functions in CUDA's language, whose name or whose
    operator's name contains `text`; without it all device functions, by file. Read-only."""
    found = list(_named(view, text) if text.strip() else _every(view))
    subjects = (Subject("search", text),) if found else ()
    shown = tuple(found[: max(limit, 0)])
    return Answer(
        "search", text, "CUDA kernels", subjects, shown, len(found), standing(view), root=view.meta("root")
    )


def _named(view: View, text: str) -> Iterator[Item]:
    for item in search(view, text, "kernels", limit=_ALL).items:
        file = view.file(item.file) if item.dispatch_key != _KEY else None
        if item.dispatch_key == _KEY or (file is not None and file.language == _LANGUAGE):
            yield item


def _every(view: View) -> Iterator[Item]:
    kernels = (d for d in view.definitions_of_kind("kernel") if d.file.language == _LANGUAGE)
    for kernel in sorted(kernels, key=lambda d: (d.file.path, d.fact.line)):
        if kernel.file.role == "library" and not kernel.fact.declares:
            yield place_of("gpu_kernel", kernel, "exact")
