"""What is known of a snapshot besides its facts: what it is a copy of.

The tests are in `tests/test_snapshots.py`.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, Final

from torchtalkd.snapshots.errors import SnapshotError
from torchtalkd.vcs import Contents

FORMAT: Final = 1
"""Of what is said here and of archives; the index has its own."""

MOST_TEXT: Final = 400
"""Characters of a text in it."""


@dataclass(frozen=True, slots=True)
class About:
    """A snapshot's description. Its fields are the keys of `--json` and of an archive."""

    name: str
    created: float
    """Seconds since 1970."""
    format: int
    index_format: int
    source_fingerprint: str
    """Of the path of the tree."""
    git_commit: str
    """HEAD's when it was saved; '' outside git."""
    branch: str
    content_fingerprint: str
    """See `vcs.contents`; '' where the tree changed all the time while it was saved."""
    changed: int
    """Files that differed from that commit."""
    harness: str
    harness_fingerprint: str
    files: int
    complete: bool
    """Whether all of the tree was in the index."""
    imported: bool = False
    """Whether it came from an archive: then no stat in it proves anything here."""


def about_copy(
    name: str, root: Path, meta: Mapping[str, str], files: int, contents: Contents, created: float
) -> About:
    """The description of a copy of an index with this meta table."""
    return About(
        name=name,
        created=created,
        format=FORMAT,
        index_format=int(meta["format"]),
        source_fingerprint=source_fingerprint(root),
        git_commit=contents.commit,
        branch=meta.get("branch", ""),
        content_fingerprint=contents.fingerprint,
        changed=contents.changed,
        harness=meta.get("harness", ""),
        harness_fingerprint=meta.get("fingerprint", ""),
        files=files,
        complete=meta.get("complete") == "1",
    )


def source_fingerprint(root: Path) -> str:
    """A hash of the path of a tree, so that a snapshot does not tell where it was made."""
    return hashlib.blake2b(os.fsencode(os.path.realpath(root)), digest_size=16).hexdigest()


def to_text(about: About) -> str:
    """As the pool and an archive have it."""
    return json.dumps(asdict(about), sort_keys=True)


def from_text(text: str, **changed: Any) -> About:
    """The description in a text, with some fields changed. Raises SnapshotError for anything else, also
    for what a later version of the program has written."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SnapshotError(f"its description cannot be read ({error})") from error
    if not isinstance(found, dict):
        raise SnapshotError("its description is no JSON object")
    version = found.get("format")
    if version != FORMAT:
        raise SnapshotError(f"it has the format {version!r}, this program uses {FORMAT}")
    values: dict[str, Any] = {}
    for field in fields(About):
        value = found.get(field.name)
        if field.type == "float" and type(value) is int:
            value = float(value)
        if type(value).__name__ != field.type:
            raise SnapshotError(f"its description does not say its {field.name}")
        if isinstance(value, str) and not (value.isprintable() and len(value) <= MOST_TEXT):
            raise SnapshotError(f"its description has a {field.name} that cannot be shown")
        values[field.name] = value
    return replace(About(**values), **changed)
