"""What a running dispatcher reports of PyTorch 2.6.0; see `tests/truth/README.md`."""

from __future__ import annotations

import gzip
import json
from functools import cache
from typing import Any

from tests.conftest import REPOSITORY

_FILE = REPOSITORY / "tests" / "truth" / "dispatch-pytorch-2.6.0.jsonl.gz"


@cache
def reported() -> tuple[dict[str, Any], ...]:
    """The operators, one object each."""
    with gzip.open(_FILE, "rt", encoding="utf-8") as lines:
        return tuple(json.loads(line) for line in lines)


@cache
def fallbacks() -> dict[str, str]:
    """Key → where the fallback for all operators stands: what the tables agree on."""
    return {
        key: where
        for operator in reported()
        for key, (kind, where) in operator["table"].items()
        if kind == "backend fallback"
    }
