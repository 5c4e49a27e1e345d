"""The commands about snapshots.

What reads a tree goes through a running daemon, as it does elsewhere; a snapshot itself is made, and put
in the index's place, by the command's own process under the writer's lock, and the daemon is told.
"""

from __future__ import annotations

import json
import os
from argparse import Namespace
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

from torchtalkd.cache import index_folder, snapshot_home
from torchtalkd.frontends.command.opening import asked, chosen, remark
from torchtalkd.frontends.command.progress import ProgressLine
from torchtalkd.frontends.command.remote import asked_daemon
from torchtalkd.frontends.command.snapshot_text import difference_lines, list_lines, megabytes
from torchtalkd.frontends.counted import counted
from torchtalkd.index import kept_index, put_index
from torchtalkd.queries.compare import compare
from torchtalkd.roots import Root
from torchtalkd.snapshots import archive, keeping
from torchtalkd.snapshots.choosing import choose
from torchtalkd.snapshots.errors import SnapshotError, WrongName
from torchtalkd.snapshots.keeping import Kept
from torchtalkd.snapshots.names import CURRENT, checked_name
from torchtalkd.store.view import View


def save(arguments: Namespace) -> int:
    """Saves the index, brought up to the tree first."""
    name = checked_name(arguments.name)
    root = chosen(arguments)
    folder = index_folder(root.path, os.environ)
    kept = keeping.save(_home(), name, root.path, folder, lambda: _refresh(root, arguments))
    if not kept.about.content_fingerprint:
        remark("the tree changed all the time: the snapshot is of one state of it, and claims no content")
    return _told(arguments, kept_json(kept), f"saved {_sizes(kept)}")


def load(arguments: Namespace) -> int:
    """Puts a snapshot in place of the index; 1 where none fits."""
    if bool(arguments.name) == arguments.nearest:
        raise WrongName("either the name of a snapshot or --nearest must be given")
    name = checked_name(arguments.name) if arguments.name else None
    root = chosen(arguments)
    found = choose(_home(), name, root.path, root.harness, force=arguments.force)
    line = ProgressLine(str(root.path))
    try:
        built = put_index(
            root.path,
            root.harness,
            index_folder(root.path, os.environ),
            lambda target, later_than: keeping.write(_home(), found.kept, root.path, target, later_than),
            progress=line,
            say=remark,
        )
    finally:
        line.close()
    for note in built.notes:
        remark(note)
    # A daemon that has the tree open finds the other index with its next question; now it is sooner.
    _through_daemon(root, arguments)
    about = found.kept.about
    changes = (
        f"{counted(built.parsed, 'file')} read again, {built.removed} removed"
        if built.parsed or built.removed
        else "unchanged"
    )
    text = (
        f"{root.path}: loaded {about.name} ({found.why}), {counted(built.files, 'file')} ({changes}) in"
        f" {built.seconds:.1f} s, revision {built.revision}"
    )
    told = {"loaded": about.name, "why": found.why, "root": str(root.path), "built": asdict(built)}
    return _told(arguments, {**told, "snapshot": kept_json(found.kept)}, text)


def listed(arguments: Namespace) -> int:
    """Lists the snapshots, the newest last."""
    there = keeping.snapshots(_home())
    size = keeping.size(_home())
    told = {"snapshots": [kept_json(kept) for kept in there], "total": len(there), "bytes": size}
    if not there and not arguments.json:
        remark("there are no snapshots yet: `torchtalkd snapshot save NAME` makes one")
        return 0
    return _told(arguments, told, "\n".join(list_lines(there, size)))


def delete(arguments: Namespace) -> int:
    """Deletes one; 1 where there is none of that name."""
    return _deleted(arguments, [checked_name(arguments.name)])


def prune(arguments: Namespace) -> int:
    """Deletes all but the newest."""
    return _deleted(arguments, keeping.beyond(keeping.snapshots(_home()), arguments.keep))


def diff(arguments: Namespace) -> int:
    """Says what differs; 1 where a side does not exist."""
    with ExitStack() as stack:
        left, right = (_side(stack, name, arguments) for name in (arguments.left, arguments.right))
        if left.meta("parsers") != right.meta("parsers"):
            remark("the two were read by different versions of the parsers, which may show as differences")
        found = compare(left, right)
    told = {"left": arguments.left, "right": arguments.right, **found.as_json()}
    return _told(arguments, told, "\n".join(difference_lines(arguments.left, arguments.right, found)))


def export(arguments: Namespace) -> int:
    """Writes an archive."""
    name = checked_name(arguments.name)
    target = Path(arguments.output or name.replace("/", "-") + archive.SUFFIX)
    archive.export(_home(), name, target)
    size = target.stat().st_size
    told = {"name": name, "file": str(target), "bytes": size}
    return _told(arguments, told, f"wrote {name} to {target}, {megabytes(size)}")


def taken_in(arguments: Namespace) -> int:
    """Takes an archive in; 1 where it is refused."""
    kept = archive.import_archive(_home(), Path(arguments.file), arguments.name)
    return _told(arguments, kept_json(kept), f"took in {_sizes(kept)}")


def kept_json(kept: Kept) -> dict[str, Any]:
    """A snapshot as `--json` shows it."""
    return {**asdict(kept.about), "bytes": kept.bytes, "added": kept.added}


def _home() -> Path:
    return snapshot_home(os.environ)


def _sizes(kept: Kept) -> str:
    about = kept.about
    size = f"{megabytes(kept.bytes)}, {megabytes(kept.added)} of it new"
    return f"{about.name}: {counted(about.files, 'file')}, {size}"


def _told(arguments: Namespace, told: dict[str, Any], text: str) -> int:
    print(json.dumps(told) if arguments.json else text)
    return 0


def _deleted(arguments: Namespace, names: list[str]) -> int:
    freed = keeping.delete(_home(), names) if names else 0
    lines = [f"deleted {name}" for name in names] or ["nothing to delete"]
    return _told(arguments, {"deleted": names, "freed": freed}, "\n".join(lines))


def _side(stack: ExitStack, name: str, arguments: Namespace) -> View:
    if name != CURRENT:
        return stack.enter_context(keeping.viewed(_home(), name))
    root = chosen(arguments)
    _refresh(root, arguments)
    kept = kept_index(root.path, root.harness, index_folder(root.path, os.environ))
    if kept is None:
        raise SnapshotError(f"the index of {root.path} cannot be read")
    return stack.enter_context(kept.view)


def _refresh(root: Root, arguments: Namespace) -> None:
    """Brings the index up to the tree, by the daemon if one runs."""
    code = _through_daemon(root, arguments)
    if code != 0:
        # Whatever was in its way is said by what is done here.
        asked(root, lambda index: None)


def _through_daemon(root: Root, arguments: Namespace) -> int | None:
    """Has a running daemon look at the whole tree; None where none runs."""
    if arguments.no_daemon or os.environ.get("TORCHTALK_NO_DAEMON"):
        return None
    meant = Namespace(source=str(root.path), harness=root.harness)
    found = asked_daemon(
        ["index", "build", "--source", str(root.path), "--harness", root.harness], meant, start=False
    )
    return None if found is None else found[2]
