"""Which files must be read exactly again, and which readings are still true?

Compared with what each reading was made from: arguments and reader, its own bytes, and the paths and bytes
of all that it may see. The tests are in `tests/test_exact_reading.py`.
"""

from __future__ import annotations

from typing import NamedTuple

from torchtalkd.engine.exact_known import Known, Wanted
from torchtalkd.store.view import View


class Item(NamedTuple):
    """A file to be read, and what it is read from."""

    wanted: Wanted
    revision: int
    digest: str
    closure: str
    files: int
    """What it may see but itself, files of the tree alone, as bits."""


class Stale(NamedTuple):
    """What must be done to be true of a revision."""

    read: dict[str, Item]
    """By path."""
    edited: frozenset[str]
    """Those whose own text is another than the one that was read."""
    valid: dict[int, int]
    """File → revision in which its reading, which is from before a change, was found to be true."""
    gone: list[int]
    """Files that were read and have nothing to be read any more."""


def stale(view: View, known: Known, *, thorough: bool) -> Stale:
    """Compares all readings with a tree. Without `thorough` what was generated is taken to be as it was."""
    rows = view.exact_rows()
    read: dict[str, Item] = {}
    edited = set()
    valid = {}
    for path, wanted in known.wanted.items():
        row = rows.pop(wanted.number, None)
        digest, files = known.files[path].digest, known.closures.of_tree(known.closure(path))
        closure = ""
        if row is not None and (row.recipe, row.digest, row.files) == (wanted.recipe, digest, files):
            untouched = not files & view.replaced_since(row.revision)
            if untouched and not thorough:
                continue
            closure = known.closure_digest(path)
            if closure == row.closure:
                if not untouched:
                    valid[wanted.number] = known.revision
                continue
        if row is not None and row.digest != digest:
            edited.add(path)
        read[path] = Item(wanted, known.revision, digest, closure or known.closure_digest(path), files)
    return Stale(read, frozenset(edited), valid, list(rows))
