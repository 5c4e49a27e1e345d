"""units: which translation units must be read again when some files change?

The tests are in `tests/test_includes.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from torchtalkd import keys
from torchtalkd.link.includes import Reached, is_header, may_mean, reached
from torchtalkd.store.view import View


def units(view: View, changed: Collection[str]) -> Reached:
    """The units whose closure of `#include` facts contains a changed file. Read-only.

    The facts may be those from before the change: a way to a file that only the change made leads through
    a file that is itself changed.
    """

    def including(path: str) -> Iterator[str]:
        for reference in view.references(keys.file(path)):
            if reference.fact.kind == "include" and may_mean(reference.fact.name, reference.file.path, path):
                yield reference.file.path
        if is_header(path):
            # An include whose file a macro names.
            yield from (reference.file.path for reference in view.references(keys.file("*")))

    return reached(changed, including)
