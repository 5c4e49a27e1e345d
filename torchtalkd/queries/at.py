"""at: what the name at a place of a text means, the counterpart of `locate` for a position."""

from __future__ import annotations

from collections.abc import Sequence

from torchtalkd.facts import File
from torchtalkd.queries.at_code import at_code
from torchtalkd.queries.at_python import at_python, leads_on
from torchtalkd.queries.meant import Meant
from torchtalkd.spots import Spot
from torchtalkd.store.view import View


def at(
    view: View,
    file: File | None,
    lines: Sequence[bytes],
    line: int,
    column: int,
    spot: Spot | None = None,
    *,
    python: bool = False,
) -> Meant | None:
    """The meaning of a place (line from 1, column in bytes from 0); None where we know none. Read-only.

    `spot` is what stands there in a text of Python, which alone may belong to no file of the index.
    With `python` also what is Python alone, which another server answers as well.
    """
    if spot is not None:
        meant = at_python(view, file, spot)
        return meant if meant is not None and (python or leads_on(view, meant)) else None
    return at_code(view, file, lines, line, column) if file is not None else None
