"""Snapshots, and what differs between two, as lines to read."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Final

from torchtalkd.frontends.counted import counted
from torchtalkd.queries.compare import Changes, Comparison, Thing
from torchtalkd.snapshots.keeping import Kept

MOST_LINES: Final = 200
"""Of each list of a difference; `--json` has all."""


def megabytes(size: int) -> str:
    """`113 MB`; what is little with a digit more."""
    return f"{size / 1e6:.0f} MB" if size >= 10_000_000 else f"{size / 1e6:.1f} MB"


def list_lines(there: list[Kept], size: int) -> Iterator[str]:
    """One line for each snapshot, then what all take."""
    width = max((len(kept.about.name) for kept in there), default=0)
    for kept in there:
        about = kept.about
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(about.created))
        commit = about.git_commit[:12] or "-"
        dirty = f"+{about.changed}" if about.changed else ""
        yield (
            f"{about.name:{width}}  {when}  {commit}{dirty}  {about.harness}, {counted(about.files, 'file')},"
            f" {megabytes(kept.bytes)}, {megabytes(kept.added)} new{'' if about.complete else ', incomplete'}"
        )
    yield f"{counted(len(there), 'snapshot')}, {megabytes(size)} on the disk"


def difference_lines(left: str, right: str, found: Comparison) -> Iterator[str]:
    """What differs in `right`, files first."""
    files = (
        ("added", found.files_added),
        ("removed", found.files_removed),
        ("modified", found.files_modified),
    )
    yield f"{left} → {right}: " + ", ".join(f"{counted(len(paths), 'file')} {what}" for what, paths in files)
    for what, paths in files:
        yield from _cut([f"  {what} {path}" for path in paths])
    gone = {thing.name for thing in found.operators.removed}
    came = {thing.name for thing in found.operators.added}
    for name, lines in (
        ("operators", _plain(found.operators)),
        ("kernels", _kernels(found.kernels, gone, came)),
        ("registrations", _plain(found.registrations)),
        ("tests", _plain(found.tests)),
    ):
        if lines:
            yield f"{name}:"
            yield from _cut(lines)


def _plain(changes: Changes) -> list[str]:
    lines = [f"  {_name(thing)} was added ({_place(thing)})" for thing in changes.added]
    lines += [f"  {_name(thing)} was removed (was {_place(thing)})" for thing in changes.removed]
    lines += [
        f"  {_name(move.after)} moved from {_place(move.before)} to {_place(move.after)}"
        for move in changes.moved
    ]
    lines += [
        f"  {_name(move.after)} changed from {move.before.what or 'nothing'}"
        f" to {move.after.what or 'nothing'} ({_place(move.after)})"
        for move in changes.changed
    ]
    return lines


def _kernels(changes: Changes, gone: set[str], came: set[str]) -> list[str]:
    """Those of operators that came or went themselves are not told one by one."""
    lines = []
    for thing in changes.added:
        if thing.name not in came:
            what = f"gained its {thing.dispatch_key} kernel" if thing.dispatch_key else "was added"
            lines.append(f"  {thing.name} {what} ({_place(thing)})")
    for thing in changes.removed:
        if thing.name not in gone:
            what = f"lost its {thing.dispatch_key} kernel" if thing.dispatch_key else "was removed"
            lines.append(
                f"  {thing.name} {what} (was {thing.what + ', ' if thing.what else ''}{_place(thing)})"
            )
    lines += [
        f"  {_kernel(move.after)} moved from {_place(move.before)} to {_place(move.after)}"
        for move in changes.moved
    ]
    lines += [
        f"  {_kernel(move.after)} is {move.after.what or 'none'} now, it was {move.before.what or 'none'}"
        f" ({_place(move.after)})"
        for move in changes.changed
    ]
    return lines


def _kernel(thing: Thing) -> str:
    return f"the {thing.dispatch_key} kernel of {thing.name}" if thing.dispatch_key else thing.name


def _name(thing: Thing) -> str:
    return f"{thing.name} ({thing.dispatch_key})" if thing.dispatch_key else thing.name


def _place(thing: Thing) -> str:
    return f"{thing.file}:{thing.line}"


def _cut(lines: list[str]) -> Iterator[str]:
    yield from lines[:MOST_LINES]
    if len(lines) > MOST_LINES:
        yield f"  … and {len(lines) - MOST_LINES} more: --json"
