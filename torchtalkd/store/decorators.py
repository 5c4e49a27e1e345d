"""Which decorators a tree's files use, and how often: one look at the table instead of each definition."""

from __future__ import annotations

import json
from collections import Counter

from torchtalkd.store import selects
from torchtalkd.store.overlaid import Overlaid
from torchtalkd.store.view import View


def decorators(view: View, role: str) -> Counter[str]:
    """How often each decorator is used in the Python files of a role, by its full name as far as these files
    tell. What an editor holds of a file does not count. Reads all functions and classes."""
    while isinstance(view, Overlaid):
        view = view._below
    found: Counter[str] = Counter()
    for (names,) in view._db.execute(selects.DECORATORS, (role,)):
        found.update(json.loads(names))
    return found
