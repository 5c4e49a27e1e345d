"""Which snapshot fits a tree, and does the one that is meant? The tests are in `tests/test_snapshots.py`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import NamedTuple

from torchtalkd import vcs
from torchtalkd.snapshots.about import About, source_fingerprint
from torchtalkd.snapshots.errors import SnapshotError
from torchtalkd.snapshots.keeping import Kept, snapshot, snapshots
from torchtalkd.store.database import FORMAT
from torchtalkd.vcs import Contents


class Chosen(NamedTuple):
    """A snapshot, and why it is the one."""

    kept: Kept
    why: str


def choose(home: Path, name: str | None, root: Path, harness: str, *, force: bool) -> Chosen:
    """The snapshot of a name, if it fits the tree at `root`, or without a name the nearest one.

    Raises SnapshotError that says what differs, or that there is none; StoreError.
    """
    if name is None:
        found = nearest(
            snapshots(home),
            vcs.contents(root),
            harness,
            lambda these: vcs.nearest_ancestor(root, these),
            force=force,
        )
        if found is None:
            raise SnapshotError(
                f"no snapshot has the content, the commit or an ancestor's commit of {root}"
                + ("" if force else "; --force takes the newest one, and reads again what differs")
            )
        return found
    kept = snapshot(home, name)
    if why := unusable(kept.about):
        raise SnapshotError(f"the snapshot {name} cannot be used: {why}")
    if not force and (why := unfit(kept.about, root, lambda: vcs.contents(root), harness)):
        raise SnapshotError(
            f"the snapshot {name} is of another tree: {why}; --force loads it all the same, and reads again"
            " what differs"
        )
    return Chosen(kept, "as asked")


def unfit(about: About, root: Path, contents: Callable[[], Contents], harness: str) -> str:
    """What differs between a snapshot and a tree, '' where its content or its path is the same."""
    if about.source_fingerprint == source_fingerprint(root):
        return ""
    now = contents()
    if about.content_fingerprint and about.content_fingerprint == now.fingerprint:
        return ""
    found = [f"it was made at another path than {root}"]
    if about.git_commit != now.commit:
        found.append(f"of {_commit(about.git_commit)}, and here is {_commit(now.commit)}")
    elif about.changed or now.changed:
        found.append(f"{about.changed} files differed from the commit there, and {now.changed} do here")
    else:
        found.append("its files are others")
    if about.harness != harness:
        found.append(f"it was read as {about.harness}, and this tree is read as {harness}")
    return "; ".join(found)


def unusable(about: About) -> str:
    """Why this program cannot use a snapshot at all, '' if it can."""
    if about.index_format == FORMAT:
        return ""
    newer = "a newer" if about.index_format > FORMAT else "an older"
    return f"its index has {newer} format, {about.index_format}; this program uses {FORMAT}"


def nearest(
    there: Iterable[Kept],
    contents: Contents,
    harness: str,
    ancestor: Callable[[Collection[str]], str],
    *,
    force: bool,
) -> Chosen | None:
    """The snapshot that is nearest to a tree: of exactly its content, of exactly its commit, of the most
    recent ancestor (which `ancestor` finds); with `force` else the newest of the same harness. Of several
    the newest. None where there is none."""
    newest = [kept for kept in there if not unusable(kept.about)]
    newest.sort(key=lambda kept: kept.about.created, reverse=True)
    for kept in newest:
        if kept.about.content_fingerprint and kept.about.content_fingerprint == contents.fingerprint:
            return Chosen(kept, "the same content")
    if contents.commit:
        for kept in newest:
            if kept.about.git_commit == contents.commit:
                return Chosen(kept, "the same commit")
        commit = ancestor({kept.about.git_commit for kept in newest if kept.about.git_commit})
        for kept in newest:
            if commit and kept.about.git_commit == commit:
                return Chosen(kept, "the nearest ancestor")
    for kept in newest:
        if force and kept.about.harness == harness:
            return Chosen(kept, "the newest")
    return None


def _commit(commit: str) -> str:
    return f"commit {commit[:12]}" if commit else "no commit"
