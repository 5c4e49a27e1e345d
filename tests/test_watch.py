"""The watcher on real trees: what is told, in which order, and when it cannot be told."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from watchdog.events import (
    DirModifiedEvent,
    FileCreatedEvent,
    FileDeletedEvent,
    FileModifiedEvent,
    FileMovedEvent,
)
from watchdog.observers.inotify_c import InotifyConstants, InotifyEvent, InotifyFD, Mask, WatchDescriptor

from tests.watching import PATIENCE, STYLES, Heard, covers, renamed_over, settle
from torchtalkd.changes import ChangeBatch, Why
from torchtalkd.watch import Watch, limits, mounts, native, polling, watch
from torchtalkd.watch.fsevents import FSEvents
from torchtalkd.watch.polling import seconds_between
from torchtalkd.watch.slept import Sleep

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="inotify is Linux's")


def git(folder: Path, *words: str) -> None:
    subprocess.run(
        ["git", "-c", "user.name=A", "-c", "user.email=a@example.org", *words],
        cwd=folder,
        check=True,
        capture_output=True,
    )


def ignored(path: str) -> bool:
    return "build" in path.split("/")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A work tree of git with a few files."""
    top = tmp_path / "tree"
    for path in ("a.py", "lib/b.cpp", "lib/deep/c.cu", "build/d.py"):
        (top / path).parent.mkdir(parents=True, exist_ok=True)
        (top / path).write_text("0")
    git(top, "init", "-q")
    git(top, "add", "a.py", "lib")
    git(top, "commit", "-qm", "one")
    return top


Start = Callable[..., tuple[Watch, Heard]]


@pytest.fixture
def start() -> Iterator[Start]:
    """Watches a tree until the end of the test; the first sweep has been told."""
    watches: list[Watch] = []

    def begin(
        root: Path, *, poll: bool = False, folders: tuple[Path, ...] = (), **more: Any
    ) -> tuple[Watch, Heard]:
        heard = Heard()
        folders = folders or (root / ".git",)
        options = {"ignored": ignored, "git_folders": folders, "heard": heard, "poll": poll} | more
        watches.append(watch(root, **options))
        heard.until(lambda whole: bool(whole.sweep))
        return watches[-1], heard

    yield begin
    for each in watches:
        each.close()


@pytest.fixture
def watched(tree: Path, start: Start) -> tuple[Path, Watch, Heard]:
    """The tree, watched and at rest."""
    found, heard = start(tree)
    settle(found)
    assert heard.whole() == ChangeBatch(sweep=frozenset({"start"}))
    heard.clear()
    return tree, found, heard


Watched = tuple[Path, Watch, Heard]


# -- what is told


@pytest.mark.parametrize("style", STYLES.values(), ids=list(STYLES))
@pytest.mark.parametrize("path", ["a.py", "lib/deep/c.cu"])
def test_a_save_is_told(watched: Watched, style: Callable[[Path, str], None], path: str) -> None:
    tree, found, heard = watched
    style(tree / path, "new text")
    settle(found)
    assert path in heard.whole().paths
    assert not heard.whole().sweep


@pytest.mark.parametrize("style", STYLES.values(), ids=list(STYLES))
def test_a_save_is_told_soon_without_being_asked(
    watched: Watched, style: Callable[[Path, str], None], tmp_path: Path
) -> None:
    """Also right after a move out of the tree, whose other half never comes."""
    tree, found, heard = watched
    took = []
    for number in range(5):
        (tree / "lib" / "gone.cpp").write_text("x")
        settle(found)
        heard.clear()
        (tree / "lib" / "gone.cpp").rename(tmp_path / "gone.cpp")
        began = time.monotonic()
        style(tree / "lib/b.cpp", f"text {number}")
        took.append(heard.until_path("lib/b.cpp") - began)
        assert "lib/gone.cpp" in heard.whole().paths
    assert min(took) < 0.15


def change_mode(path: Path) -> None:
    path.chmod(0o400)


def set_times(path: Path) -> None:
    os.utime(path, (1, 1))


def truncate(path: Path) -> None:
    os.truncate(path, 0)


def link(path: Path) -> None:
    path.unlink()
    path.symlink_to("elsewhere")


@pytest.mark.parametrize("change", [change_mode, set_times, truncate, link, Path.unlink])
def test_other_changes_are_told(watched: Watched, change: Callable[[Path], None]) -> None:
    tree, found, heard = watched
    change(tree / "lib/b.cpp")
    settle(found)
    assert heard.whole().paths == {"lib/b.cpp"}


def test_a_rename_in_case_only_tells_both_names(watched: Watched) -> None:
    tree, found, heard = watched
    (tree / "lib/b.cpp").rename(tree / "lib/B.cpp")
    settle(found)
    assert heard.whole().paths == {"lib/b.cpp", "lib/B.cpp"}


def test_one_more_name_of_a_file_is_told(watched: Watched) -> None:
    tree, found, heard = watched
    os.link(tree / "a.py", tree / "lib/also.py")
    settle(found)
    assert "lib/also.py" in heard.whole().paths


def test_a_folder_that_appears_with_all_in_it_is_told(watched: Watched) -> None:
    tree, found, heard = watched
    for path in ("new/er/est/e.py", "new/f.py"):
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_text("0")
    settle(found)
    assert "new" in heard.whole().paths
    heard.clear()
    (tree / "new/er/est/e.py").write_text("1")
    settle(found)
    assert heard.whole().paths == {"new/er/est/e.py"}


def test_a_folder_that_comes_from_outside_is_told_and_watched(watched: Watched, tmp_path: Path) -> None:
    tree, found, heard = watched
    (tmp_path / "outside/deep").mkdir(parents=True)
    (tmp_path / "outside").rename(tree / "inside")
    settle(found)
    assert heard.whole().paths == {"inside"}
    heard.clear()
    (tree / "inside/deep/e.py").write_text("1")
    settle(found)
    assert heard.whole().paths == {"inside/deep/e.py"}


def test_a_folder_that_leaves_is_told_and_no_longer_watched(watched: Watched, tmp_path: Path) -> None:
    tree, found, heard = watched
    before = found.state().folders
    (tree / "lib").rename(tmp_path / "lib")
    settle(found)
    assert heard.whole().paths == {"lib"}
    assert found.state().folders == before - 2
    heard.clear()
    (tmp_path / "lib/deep/c.cu").write_text("1")
    settle(found)
    assert heard.whole() == ChangeBatch()


def test_a_folder_that_moves_inside_is_told_by_its_new_name(watched: Watched) -> None:
    tree, found, heard = watched
    before = found.state().folders
    (tree / "lib").rename(tree / "src")
    settle(found)
    assert heard.whole().paths == {"lib", "src"}
    assert found.state().folders == before
    heard.clear()
    (tree / "src/deep/c.cu").write_text("1")
    settle(found)
    assert heard.whole().paths == {"src/deep/c.cu"}


def test_folders_that_change_places_keep_being_watched(watched: Watched) -> None:
    tree, found, heard = watched
    (tree / "other").mkdir()
    (tree / "other/here.py").write_text("0")
    settle(found)
    for _ in range(21):
        (tree / "lib").rename(tree / "tmp")
        (tree / "other").rename(tree / "lib")
        (tree / "tmp").rename(tree / "other")
    settle(found)
    heard.clear()
    (tree / "lib/here.py").write_text("1")
    (tree / "other/deep/c.cu").write_text("1")
    settle(found)
    assert heard.whole().paths == {"lib/here.py", "other/deep/c.cu"}


def test_links_to_folders_are_not_followed(tree: Path, start: Start, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (tree / "out").symlink_to(outside)
    (tree / "lib/loop").symlink_to(tree)
    found, heard = start(tree)
    settle(found)
    heard.clear()
    (tree / "later").symlink_to(outside)
    settle(found)
    (outside / "e.py").write_text("1")
    (tree / "a.py").write_text("1")
    settle(found)
    assert heard.whole().paths == {"later", "a.py"}


def test_a_link_to_a_file_changes_with_the_file(tree: Path, start: Start, tmp_path: Path) -> None:
    (tree / "old.cpp").symlink_to("lib/b.cpp")
    found, heard = start(tree)
    settle(found)
    (tree / "new.cu").symlink_to(tree / "lib/deep/c.cu")
    (tree / "gone.cpp").symlink_to("lib/b.cpp")
    (tree / "gone.cpp").unlink()
    settle(found)
    heard.clear()
    renamed_over(tree / "lib/b.cpp", "1")
    settle(found)
    assert "old.cpp" in heard.whole().paths and "gone.cpp" not in heard.whole().paths
    heard.clear()
    (tree / "lib").rename(tmp_path / "lib")
    settle(found)
    assert heard.whole().paths == {"lib", "old.cpp", "new.cu"}


def test_the_ignore_list_is_asked_before_a_folder_is_watched(tree: Path, start: Start) -> None:
    (tree / "build/deep").mkdir()
    asked = []

    def ask(path: str) -> bool:
        asked.append(path)
        return ignored(path)

    found, heard = start(tree, ignored=ask)
    settle(found)
    heard.clear()
    (tree / "build/deep/e.py").write_text("1")
    (tree / "lib/build").mkdir()
    (tree / "lib/build/e.py").write_text("1")
    (tree / "sub/.git/objects").mkdir(parents=True)
    settle(found)
    (tree / "sub/.git/objects/e.py").write_text("1")
    settle(found)
    assert heard.whole().paths == {"sub"}
    assert "build" in asked and "build/deep" not in asked
    assert not [path for path in asked if ".git" in path]


def test_a_name_that_no_path_can_say_is_told_as_its_folder(watched: Watched) -> None:
    tree, found, heard = watched
    (tree / os.fsdecode(b"lib/\xff.py")).write_text("1")
    settle(found)
    assert heard.whole() == ChangeBatch(frozenset({"lib"}))
    (tree / os.fsdecode(b"lib/\xfe")).mkdir()
    (tree / os.fsdecode(b"\xff.py")).write_text("1")
    settle(found)
    assert heard.whole().sweep == {"folder"}
    heard.clear()
    renamed_over(tree / "a.py", "1")
    settle(found)
    assert "a.py" in heard.whole().paths


# -- git


def reset_soft(tree: Path) -> None:
    git(tree, "commit", "-q", "--allow-empty", "-m", "two")
    git(tree, "reset", "-q", "--soft", "HEAD~1")


@pytest.mark.parametrize(
    "change",
    [
        lambda tree: git(tree, "commit", "-q", "--allow-empty", "-m", "two"),
        lambda tree: git(tree, "checkout", "-q", "-b", "deep/er"),
        lambda tree: git(tree, "checkout", "-q", "--detach"),
        lambda tree: git(tree, "pack-refs", "--all"),
        reset_soft,
    ],
    ids=["commit", "branch", "detach", "pack", "reset"],
)
def test_what_moves_head_or_branch_is_told(watched: Watched, change: Callable[[Path], None]) -> None:
    tree, found, heard = watched
    change(tree)
    settle(found)
    assert heard.whole().sweep == {"git"}


def test_a_branch_below_a_new_folder_is_told(watched: Watched) -> None:
    tree, found, heard = watched
    git(tree, "checkout", "-q", "-b", "one/two/three")
    settle(found)
    heard.clear()
    git(tree, "commit", "-q", "--allow-empty", "-m", "two")
    settle(found)
    assert heard.whole().sweep == {"git"}


def test_a_checkout_is_told_in_one_batch(watched: Watched) -> None:
    tree, _, heard = watched
    lock = tree / ".git/index.lock"
    lock.touch()
    for number in range(300):
        (tree / "lib" / f"{number}.cpp").write_text("1")
    assert not heard.batches
    lock.rename(tree / ".git/index")
    heard.until(lambda whole: "git" in whole.sweep)
    assert len(heard.batches) == 1
    assert len(heard.whole().paths) == 300


def test_a_forgotten_lock_holds_a_save_for_two_seconds_at_most(watched: Watched) -> None:
    tree, found, heard = watched
    (tree / ".git/index.lock").touch()
    began = time.monotonic()
    (tree / "a.py").write_text("1")
    assert 1.5 < heard.until_path("a.py") - began < 3.5
    began = time.monotonic()
    (tree / "lib/b.cpp").write_text("1")
    settle(found)
    assert time.monotonic() - began < 1.0


def test_a_linked_work_tree_has_its_own_head_and_lock(tree: Path, start: Start, tmp_path: Path) -> None:
    linked = tmp_path / "linked"
    git(tree, "worktree", "add", "-q", "-b", "side", str(linked))
    own = tree / ".git/worktrees/linked"
    found, heard = start(linked, folders=(own, tree / ".git"))
    settle(found)
    heard.clear()
    git(linked, "commit", "-q", "--allow-empty", "-m", "two")
    settle(found)
    assert heard.whole().sweep == {"git"}
    heard.clear()
    (tree / ".git/index.lock").touch()
    began = time.monotonic()
    (linked / "a.py").write_text("1")
    settle(found)
    assert time.monotonic() - began < 1.0
    assert heard.whole() == ChangeBatch(frozenset({"a.py"}))


# -- read your writes


def test_settled_comes_after_all_that_was_changed_before(watched: Watched) -> None:
    tree, found, heard = watched
    late = []

    def check(path: str, done: threading.Event) -> None:
        if path not in heard.whole().paths:
            late.append(path)
        done.set()

    def work(who: int) -> None:
        for number in range(60):
            path = f"lib/{who}-{number}.cpp"
            (tree / path).write_text("1")
            done = threading.Event()
            assert found.settled(lambda path=path, done=done: check(path, done))  # type: ignore[misc]
            assert done.wait(PATIENCE)

    threads = [threading.Thread(target=work, args=(who,)) for who in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert late == []
    assert not heard.whole().sweep


def test_a_cookie_is_in_no_folder_of_the_tree_and_does_not_stay(watched: Watched) -> None:
    tree, found, heard = watched
    settle(found)
    assert heard.whole() == ChangeBatch()
    assert not [path for path in tree.rglob("*cookie*") if "logs" not in path.parts]


def test_settled_before_the_watches_are_there_comes_after_the_first_sweep(tree: Path) -> None:
    heard = Heard()
    found = watch(tree, ignored=ignored, git_folders=[tree / ".git"], heard=heard)
    settle(found)
    assert heard.whole().sweep == {"start"}
    found.close()


def test_nothing_is_promised_without_a_git_folder(tree: Path, start: Start) -> None:
    found, _ = start(tree, git_folders=[tree / "no-such-folder"])
    assert found.state().how == "native"
    assert not found.settled(lambda: None)


def test_a_cookie_that_cannot_be_written_is_answered_after_a_sweep(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, found, heard = watched

    def full(self: native.Inotify, name: str) -> None:
        raise OSError(errno.ENOSPC, "the disk is full")

    monkeypatch.setattr(native.Inotify, "write_cookie", full)
    settle(found)
    assert heard.whole().sweep == {"overflow"}
    assert not found.settled(lambda: None)


def test_a_cookie_whose_event_is_lost_is_answered_after_a_sweep(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, found, heard = watched
    monkeypatch.setattr(native.Inotify, "write_cookie", lambda self, name: None)
    settle(found)
    assert heard.whole().sweep == {"overflow"}


# -- lost events


def test_when_the_queue_runs_over_all_is_swept_and_watched_anew(tree: Path, start: Start) -> None:
    """A real overflow: the reader stands still while more happens than the kernel keeps."""
    go = threading.Event()
    go.set()

    def slow(path: str) -> bool:
        assert go.wait(60)
        return ignored(path)

    found, heard = start(tree, ignored=slow)
    settle(found)
    heard.clear()
    go.clear()
    most = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    paths = [str(tree / "lib/b.cpp"), str(tree / "a.py")]
    for number in range(most + 10_000):  # more than the reader takes before it stands still
        os.truncate(paths[number % 2], number)
    (tree / "late").mkdir()
    (tree / "late/e.py").write_text("0")
    done = threading.Event()
    assert found.settled(done.set)
    go.set()
    assert done.wait(PATIENCE)
    assert "overflow" in heard.whole().sweep
    heard.clear()
    (tree / "late/e.py").write_text("1")
    settle(found)
    assert heard.whole().paths == {"late/e.py"}


@pytest.mark.parametrize("count", [60, pytest.param(600, marks=pytest.mark.full)])
def test_a_storm_of_saves_is_told_whole_or_swept(tree: Path, start: Start, count: int) -> None:
    """30 files in each of many folders, renamed over as fast as it goes."""
    folders = [tree / f"lib/d{number}" for number in range(count)]
    for folder in folders:
        folder.mkdir()
    found, heard = start(tree)
    settle(found)
    heard.clear()
    paths = set()
    for name in range(30):
        for folder in folders:
            path = folder / f"{name}.py"
            renamed_over(path, "1")
            paths.add(path.relative_to(tree).as_posix())
    settle(found)
    whole = heard.whole()
    assert whole.sweep & {"overflow"} or paths <= whole.paths


def test_an_event_of_no_watch_does_no_harm(watched: Watched) -> None:
    tree, found, heard = watched
    reader = found._backend._descriptor  # type: ignore[union-attr]
    for mask in (InotifyConstants.IN_CREATE, InotifyConstants.IN_IGNORED):
        reader.handle_event(InotifyEvent(WatchDescriptor(999_999), Mask(mask), 0, b"x"))
    (tree / "a.py").write_text("1")
    settle(found)
    assert heard.whole().paths == {"a.py"}


# -- limits


def test_half_of_the_watches_are_left_to_others(
    tree: Path, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(50):
        (tree / f"lib/d{number}").mkdir()
    # A watch of an earlier test of this process may still be held.
    taken = limits.BUDGET._taken
    monkeypatch.setattr(limits, "_setting", lambda name: 40 + 2 * taken)
    monkeypatch.setattr(polling, "_SOONEST", 0.01)
    found, heard = start(tree)
    state = found.state()
    assert (state.how, state.folders) == ("partly", 20)
    assert "sudo sysctl fs.inotify.max_user_watches=" in state.note
    assert not found.settled(lambda: None)
    heard.until(lambda whole: "folder" in whole.sweep)


def test_a_limit_that_is_met_later_is_told(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    tree, found, heard = watched
    monkeypatch.setattr(polling, "_SOONEST", 0.01)

    def refuse(self: InotifyFD, *args: object) -> WatchDescriptor:
        raise OSError(errno.ENOSPC, "inotify watch limit reached")

    monkeypatch.setattr(InotifyFD, "add_callback", refuse)
    (tree / "new").mkdir()
    heard.until(lambda whole: "new" in whole.paths and "folder" in whole.sweep)
    assert found.state().how == "partly"
    assert not found.settled(lambda: None)
    heard.clear()
    (tree / "a.py").write_text("1")
    heard.until_path("a.py")


def test_watches_are_given_back(tree: Path, start: Start) -> None:
    taken = limits.BUDGET._taken
    found, _ = start(tree)
    assert limits.BUDGET._taken == taken + found.state().folders
    shutil.rmtree(tree / "lib")
    settle(found)
    assert limits.BUDGET._taken == taken + found.state().folders
    found.close()
    assert limits.BUDGET._taken == taken


def test_without_an_instance_it_is_polled(tree: Path, start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> InotifyFD:
        raise OSError(errno.EMFILE, "inotify instance limit reached")

    monkeypatch.setattr(native, "InotifyFD", refuse)
    found, _ = start(tree)
    assert found.state().how == "polling"
    assert "max_user_instances" in found.state().note
    assert not found.settled(lambda: None)


@pytest.mark.full
def test_a_folder_that_is_seen_under_two_names_is_said(tree: Path, start: Start) -> None:
    (tree / "twice").mkdir()
    if subprocess.run(["mount", "--bind", tree / "lib", tree / "twice"], check=False).returncode:
        pytest.skip("may not mount")
    try:
        found, _ = start(tree)
        assert found.state().how == "partly"
        found.close()
    finally:
        subprocess.run(["umount", tree / "twice"], check=True)


@pytest.mark.full
def test_a_file_system_that_goes_is_told(tree: Path, start: Start) -> None:
    (tree / "mounted").mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "none", tree / "mounted"], check=False).returncode:
        pytest.skip("may not mount")
    try:
        found, heard = start(tree)
        settle(found)
        heard.clear()
        (tree / "mounted/e.py").write_text("1")
        settle(found)
        assert heard.whole().paths == {"mounted/e.py"}
        heard.clear()
    finally:
        subprocess.run(["umount", tree / "mounted"], check=True)
    settle(found)
    assert "mounted" in heard.whole().paths


# -- a root that goes, and ways without events


def go_and_come(tree: Path) -> tuple[Callable[[], None], Callable[[], None]]:
    return (
        lambda: (tree.rename(tree.with_name("away")), None)[1],
        lambda: (tree.with_name("away").rename(tree), None)[1],
    )


def deleted_and_cloned(tree: Path) -> tuple[Callable[[], None], Callable[[], None]]:
    copy = tree.with_name("copy")
    shutil.copytree(tree, copy)
    return lambda: shutil.rmtree(tree), lambda: (shutil.copytree(copy, tree), None)[1]


@pytest.mark.parametrize("how", [go_and_come, deleted_and_cloned])
def test_a_root_that_goes_is_watched_again_when_it_is_back(watched: Watched, how: Callable[..., Any]) -> None:
    tree, found, heard = watched
    go, come = how(tree)
    go()
    until(lambda: found.state().how == "none")
    assert not found.settled(lambda: None)
    heard.clear()
    come()
    heard.until(lambda whole: "returned" in whole.sweep)
    until(lambda: found.state().how == "native")
    heard.until(lambda whole: found.settled(lambda: None))
    settle(found)
    heard.clear()
    (tree / "lib/deep/c.cu").write_text("again")
    settle(found)
    assert "lib/deep/c.cu" in heard.whole().paths


def test_a_root_that_is_replaced_at_once_is_noticed(watched: Watched) -> None:
    tree, _, heard = watched
    shutil.copytree(tree, tree.with_name("copy"))
    tree.rename(tree.with_name("away"))
    tree.with_name("copy").rename(tree)
    heard.until(lambda whole: "returned" in whole.sweep)
    (tree / "a.py").write_text("again")
    heard.until_path("a.py")


def test_a_git_folder_that_is_made_anew_is_watched(watched: Watched) -> None:
    tree, found, heard = watched
    shutil.rmtree(tree / ".git")
    git(tree, "init", "-q")
    heard.until(lambda whole: bool(whole.sweep & {"git", "returned"}))
    until(lambda: found.settled(lambda: None))
    settle(found)
    heard.clear()
    (tree / "a.py").write_text("again")
    settle(found)
    assert heard.whole().paths == {"a.py"}


def test_a_root_that_was_never_there_is_watched_when_it_comes(tmp_path: Path) -> None:
    heard = Heard()
    found = watch(tmp_path / "later", ignored=ignored, git_folders=[], heard=heard)
    until(lambda: "not there" in found.state().note)
    (tmp_path / "later").mkdir()
    heard.until(lambda whole: "returned" in whole.sweep)
    (tmp_path / "later/a.py").write_text("1")
    heard.until_path("a.py")
    found.close()


def test_a_polled_tree_is_swept_often(tree: Path, start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(polling, "_SOONEST", 0.01)
    found, heard = start(tree, poll=True)
    assert found.state().how == "polling"
    assert not found.settled(lambda: None)
    heard.until(lambda whole: "often" in whole.sweep)


def test_a_sweep_that_takes_long_is_asked_for_seldom() -> None:
    assert seconds_between(0.0) == 2.0
    assert seconds_between(0.5) == 10.0
    assert seconds_between(100.0) == 60.0


def test_a_file_system_that_tells_nothing_is_polled(
    tree: Path, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(native.Inotify, "write_cookie", lambda self, name: None)
    found, heard = start(tree)
    heard.until(lambda whole: "often" in whole.sweep)
    until(lambda: found.state().how == "polling")
    assert "does not tell" in found.state().note


MOUNTS = """\
22 1 259:1 / / rw,relatime shared:1 - ext4 /dev/root rw
30 22 0:40 / /home rw shared:2 - nfs4 server:/home rw
31 30 0:41 / /home/me/local rw - ext4 /dev/sdb rw
32 22 0:42 / /mnt/my\\040share rw - cifs //server/share rw
33 22 0:43 / /mnt/c rw - fuse.sshfs host:/ rw
34 22 0:44 / /mnt/disk rw - fuseblk /dev/sdc rw
35 22 0:45 / /twice rw - nfs server:/twice rw
36 35 0:46 / /twice rw - ext4 /dev/sdd rw
"""


@pytest.fixture
def mounted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Says what is mounted."""
    file = tmp_path / "mountinfo"
    monkeypatch.setattr(mounts, "_MOUNTS", file)
    return lambda text: (file.write_text(text), None)[1]


def test_which_file_systems_do_not_tell(mounted: Callable[[str], None]) -> None:
    mounted(MOUNTS)
    assert mounts.silent_below("/mnt") == {"/mnt/my share", "/mnt/c"}
    assert mounts.silent_below("/") == {"/home", "/mnt/my share", "/mnt/c", "/twice"}
    for path, kind in {
        "/src/pytorch": "",
        "/home/me/src": "nfs4",
        "/home/me/local/src": "",
        "/homes": "",
        "/mnt/my share/src": "cifs",
        "/mnt/c/src": "fuse.sshfs",
        "/mnt/disk/src": "",
        "/twice/src": "",
    }.items():
        assert mounts.kind_of(path) == kind, path


def test_a_tree_on_a_mount_that_does_not_tell_is_polled(
    tree: Path, start: Start, mounted: Callable[[str], None]
) -> None:
    mounted(f"40 22 0:50 / {tree.parent} rw - nfs server:/lib rw\n")
    found, _ = start(tree)
    assert found.state().how == "polling"
    assert "nfs" in found.state().note
    assert not found.settled(lambda: None)


def test_a_mount_that_does_not_tell_is_left_out_and_said(
    tree: Path, start: Start, mounted: Callable[[str], None]
) -> None:
    """Whenever it comes and goes."""
    mounted(MOUNTS)
    found, heard = start(tree)
    settle(found)
    heard.clear()
    mounted(MOUNTS + f"40 22 0:50 / {tree}/lib rw - nfs server:/lib rw\n")
    heard.until(lambda whole: "folder" in whole.sweep)
    until(lambda: found.state().how == "partly")
    assert f"{tree}/lib" in found.state().note
    assert not found.settled(lambda: None)
    heard.clear()
    mounted(MOUNTS)
    until(lambda: found.settled(lambda: None))
    assert found.state().how == "native"


@pytest.mark.parametrize(
    ("later", "slept"),
    [
        ((11.0, 11.0, 101.0), False),
        ((11.0, 71.0, 161.0), True),
        ((11.0, 11.0, 161.0), True),
        ((11.0, 11.0, 41.0), True),
        ((25.0, 25.0, 115.0), True),
    ],
    ids=["no", "suspended", "clock set", "clock set back", "process stopped"],
)
def test_clocks_that_go_apart_are_sleep(later: tuple[float, ...], slept: bool) -> None:
    readings = iter([(10.0, 10.0, 100.0), later])
    assert Sleep(lambda: next(readings)).slept(1.0) == slept


# -- the end


def test_after_the_end_nothing_is_told_and_nothing_is_left(tree: Path, start: Start) -> None:
    before = (threading.active_count(), len(os.listdir("/proc/self/fd")))
    found, heard = start(tree)
    settle(found)
    found.close()
    found.close()
    heard.clear()
    (tree / "a.py").write_text("1")
    assert not found.settled(lambda: None)
    assert found.state().how == "none"
    assert (threading.active_count(), len(os.listdir("/proc/self/fd"))) == before
    assert not heard.batches


def test_who_hears_may_end_it(tree: Path) -> None:
    ended = threading.Event()
    found: list[Watch] = []

    def heard(batch: ChangeBatch) -> None:
        until(lambda: bool(found))
        found[0].close()
        ended.set()

    found.append(watch(tree, ignored=ignored, git_folders=[], heard=heard))
    assert ended.wait(PATIENCE)
    found[0].close()


# -- any history


def snapshot(top: Path) -> dict[str, tuple[int, ...]]:
    found = {}
    for folder, names, files in os.walk(top):
        names[:] = [name for name in names if name != ".git"]
        for name in files:
            path = os.path.join(folder, name)
            what = os.lstat(path)
            found[os.path.relpath(path, top)] = (what.st_ino, what.st_mtime_ns, what.st_size)
    return found


NAME = st.sampled_from(["p", "q", "r"])
PLACE = st.lists(NAME, min_size=1, max_size=3).map("/".join)
STEP = st.one_of(
    st.tuples(st.just("write"), PLACE),
    st.tuples(st.just("folder"), PLACE),
    st.tuples(st.just("delete"), PLACE),
    st.tuples(st.just("move"), PLACE, PLACE),
    st.tuples(st.just("out"), PLACE),
    st.tuples(st.just("in"), PLACE),
    st.tuples(st.just("settle")),
)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    """One watched tree for all histories: each goes on where the one before ended."""
    top = tmp_path_factory.mktemp("any") / "tree"
    top.mkdir()
    git(top, "init", "-q")
    heard = Heard()
    found = watch(top, ignored=ignored, git_folders=[top / ".git"], heard=heard)
    settle(found)
    yield top, found, heard
    found.close()


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(STEP, min_size=1, max_size=25))
def test_any_change_of_any_history_is_told(shared: Watched, steps: list[tuple[str, ...]]) -> None:
    top, found, heard = shared
    outside = top.parent / "outside"
    outside.mkdir(exist_ok=True)
    heard.clear()
    before = snapshot(top)
    for number, (what, *places) in enumerate([*steps, ("settle",)]):
        if what == "settle":
            settle(found)
            after = snapshot(top)
            whole = heard.whole()
            assert not whole.sweep
            for path in {path for path, _ in before.items() ^ after.items()}:
                assert covers(whole, path), f"{path} changed, and {whole} was told"
            before = after
            heard.clear()
            continue
        paths = [top / place for place in places]
        try:
            match what:
                case "write":
                    paths[0].write_text(f"{number}")
                case "folder":
                    paths[0].mkdir(parents=True)
                    (paths[0] / "f.py").write_text("0")
                case "delete":
                    paths[0].unlink() if paths[0].is_file() else shutil.rmtree(paths[0])
                case "move":
                    paths[0].rename(paths[1])
                case "out":
                    paths[0].rename(outside / f"{time.monotonic_ns()}")
                case "in":
                    sorted(outside.iterdir())[-1].rename(paths[0])
        except (OSError, IndexError):
            continue


# -- macOS, with an observer that is none


class FakeObserver:
    def __init__(self) -> None:
        self.emitters: set[str] = set()
        self.running = False

    def schedule(self, handler: object, path: str, *, recursive: bool) -> None:
        assert recursive
        self.emitters.add(path)

    def start(self) -> None:
        self.running = True

    def stop(self) -> None:
        self.running = False

    def join(self) -> None:
        assert not self.running


class Told:
    def __init__(self) -> None:
        self.all: list[tuple[object, ...]] = []

    def changed(self, path: str) -> None:
        self.all.append(("changed", path))

    def sweep(self, why: Why) -> None:
        self.all.append(("sweep", why))

    def locked(self, held: bool) -> None:
        self.all.append(("locked", held))

    def cookie(self, name: str) -> None:
        self.all.append(("cookie", name))

    def lost(self) -> None:
        self.all.append(("lost",))

    def doubt(self) -> None:
        self.all.append(("doubt",))


def test_what_macos_tells_is_understood(tree: Path) -> None:
    told = Told()
    observer = FakeObserver()
    top = os.path.realpath(tree)
    source = FSEvents(top, ignored, [f"{top}/.git"], told, lambda: observer)  # type: ignore[arg-type,return-value]
    assert observer.running and source.folders == 1 and not source.takes_cookies
    told.all.clear()
    for event in (
        FileModifiedEvent(f"{top}/lib/b.cpp"),
        DirModifiedEvent(f"{top}/lib"),
        FileMovedEvent(f"{top}/a.py", f"{top}/lib/a.py"),
        FileMovedEvent("/elsewhere/a.py", f"{top}/in.py"),
        FileCreatedEvent(f"{top}/build/e.py"),
        FileCreatedEvent(f"{top}/.git/index.lock"),
        FileCreatedEvent(f"{top}/.git/objects/ab/cdef"),
        FileMovedEvent(f"{top}/.git/index.lock", f"{top}/.git/index"),
        FileModifiedEvent(f"{top}/.git/refs/heads/deep/main"),
        FileModifiedEvent(f"{top}/.git/refs/remotes/main"),
        FileDeletedEvent(f"{top}/sub/.git/index"),
        FileDeletedEvent(top),
    ):
        source.dispatch(event)
    assert told.all == [
        ("changed", "lib/b.cpp"),
        ("changed", "a.py"),
        ("changed", "lib/a.py"),
        ("changed", "in.py"),
        ("locked", True),
        ("locked", False),
        ("sweep", "git"),
        ("sweep", "git"),
        ("doubt",),
    ]
    source.close()
    assert not observer.running


def until(what: Callable[[], bool]) -> None:
    """Waits for a state that nobody tells."""
    end = time.monotonic() + PATIENCE
    pause = threading.Event()
    while not what():
        assert time.monotonic() < end
        pause.wait(0.01)
