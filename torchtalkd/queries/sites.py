"""The references with a key, kept for a while: the steps of a walk ask for one name several times."""

from __future__ import annotations

from typing import Final

from torchtalkd.facts import FiledReference
from torchtalkd.store.view import View

_MOST_KEPT: Final = 20_000
"""References; when there are more, all are forgotten."""


def sites(view: View, key: str) -> list[FiledReference]:
    """As `View.references`. Whoever asks changes nothing in the list."""
    kept: dict[str, list[FiledReference]] = view.kept.setdefault("sites", {})
    found = kept.get(key)
    if found is None:
        if sum(map(len, kept.values())) > _MOST_KEPT:
            kept.clear()
        found = kept[key] = view.references(key)
    return found
