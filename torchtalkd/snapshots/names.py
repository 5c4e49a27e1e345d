"""What may a snapshot be called? Up to three parts: `nightly`, `main/abc1234`, `main/abc1234/v1`.

A name becomes no path, but it stands in scripts and file names of archives, so it keeps to letters,
digits and a few signs. The tests are in `tests/test_snapshots.py`.
"""

from __future__ import annotations

import re
from typing import Final

from torchtalkd.snapshots.errors import WrongName

CURRENT: Final = "current"
"""The live index, on either side of a comparison; so no snapshot is called that."""
MOST_PARTS: Final = 3
_PART: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._+@=-]{0,99}")


def checked_name(name: str) -> str:
    """The name, if a snapshot may have it. Raises WrongName."""
    if name.casefold() == CURRENT:
        raise WrongName(f"{CURRENT!r} means the live index; a snapshot needs another name")
    parts = name.split("/")
    if len(parts) > MOST_PARTS:
        raise WrongName(
            f"the name {name!r} has {len(parts)} parts; it may have {MOST_PARTS}, as in main/abc1234/v1"
        )
    for part in parts:
        if not _PART.fullmatch(part):
            raise WrongName(
                f"the name {name!r} cannot be used: each of its parts is made of letters, digits and ._+@=-,"
                " begins with a letter, a digit or _, and has 100 characters at most"
            )
    return name
