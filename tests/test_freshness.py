"""An answer is never older than the tree: what is on the disk when a question comes is in it, or is said
to be missing, whatever happens to the tree, the events and the processes in between."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.daemons import Home, alive, children, new_home, until
from tests.rpc import INITIALIZE, INITIALIZED, call
from tests.test_daemon import hosted, opened
from torchtalkd.cache import index_folder
from torchtalkd.changes import ChangeBatch
from torchtalkd.conventions import load
from torchtalkd.daemon import freshness, second_look
from torchtalkd.daemon import host as hosts
from torchtalkd.daemon.freshness import MOST_PATHS, Freshness
from torchtalkd.daemon.host import Handle, Host
from torchtalkd.daemon.keepers import BuildFailed, Built, Keepers
from torchtalkd.daemon.watching import Watching
from torchtalkd.engine import build
from torchtalkd.frontends.host import NotReady
from torchtalkd.queries.answers import Answer
from torchtalkd.queries.status import status
from torchtalkd.queries.trace import trace
from torchtalkd.roots import Root
from torchtalkd.store.database import open_view
from torchtalkd.store.dump import dump

NATIVE = "aten/src/ATen/native"
LONG = 30.0
"""Seconds of patience where the test is not about patience."""


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"XDG_CACHE_HOME": str(tmp_path / "cache"), "XDG_CONFIG_HOME": str(tmp_path / "config")}


@pytest.fixture
def tree(mini_tree: Path) -> Path:
    """A small tree under git, with one commit."""
    git(mini_tree, "init", "-q", "-b", "main")
    commit(mini_tree, "first")
    return mini_tree


@pytest.fixture
def home() -> Iterator[Home]:
    with new_home() as home:
        yield home


def git(root: Path, *arguments: str) -> str:
    """What git says to a command."""
    settings = ("-c", "user.name=t", "-c", "user.email=t@t", "-c", "commit.gpgsign=false")
    done = subprocess.run(
        ["git", *settings, *arguments], cwd=root, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def commit(root: Path, message: str) -> str:
    """Commits all there is; the new commit."""
    git(root, "add", "-A")
    git(root, "commit", "-q", "--allow-empty", "-m", message)
    return git(root, "rev-parse", "HEAD")


async def traced(handle: Handle, name: str) -> Answer:
    """The answer about a name, in which nothing is waiting."""
    answer = await handle.ask(lambda view: trace(view, name), LONG)
    assert answer.standing.waiting == 0
    return answer


async def facts(handle: Handle) -> list[str]:
    """All facts of the index, once nothing is waiting."""
    await traced(handle, "mul")
    return await handle.ask(lambda view: list(dump(view)), LONG)


def fresh(root: Path, folder: Path) -> list[str]:
    """All facts of a new index of a tree."""
    shutil.rmtree(folder, ignore_errors=True)
    build(root, folder, load("pytorch", tree=root), workers=1)
    with open_view(folder) as view:
        return list(dump(view))


# -- every kind of file, every style of saving

KINDS = {
    f"{NATIVE}/LinearAlgebra.cpp": "\nnamespace at::native {{ int {name}(int a) {{ return a; }} }}\n",
    f"{NATIVE}/BinaryOps.h": "\nnamespace at::native {{ inline int {name}(int a) {{ return a; }} }}\n",
    f"{NATIVE}/cuda/Blas.cu": "\nnamespace at::native {{ int {name}(int a) {{ return a; }} }}\n",
    f"{NATIVE}/cuda/New.cuh": "namespace at::native {{ inline int {name}(int a) {{ return a; }} }}\n",
    f"{NATIVE}/mps/operations/Unary.mm": "\nnamespace at::native {{ int {name}(int a) {{ return a; }} }}\n",
    f"{NATIVE}/mps/kernels/New.metal": "kernel void {name}(device float* a) {{}}\n",
    f"{NATIVE}/native_functions.yaml": "\n- func: {name}(Tensor self) -> Tensor\n",
    "torch/functional.py": "\ndef {name}(a):\n    return a\n",
}


def in_place(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def by_rename(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    other = path.with_name(f".{path.name}.tmp")
    other.write_bytes(data)
    other.replace(path)


def deleted_and_created(path: Path, data: bytes) -> None:
    path.unlink(missing_ok=True)
    in_place(path, data)


def with_a_backup(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.with_name("4913").touch()
    path.with_name("4913").unlink()
    if path.exists():
        path.rename(path.with_name(path.name + "~"))
    in_place(path, data)
    path.with_name(path.name + "~").unlink(missing_ok=True)


def after_a_move_out(path: Path, data: bytes) -> None:
    in_place(path.with_name("Leaving.cpp"), b"int leaving();")
    path.with_name("Leaving.cpp").rename(Path(os.environ["XDG_CACHE_HOME"]).parent / "left.cpp")
    path.write_bytes(data)


@pytest.mark.parametrize(
    "save",
    [in_place, by_rename, deleted_and_created, with_a_backup, after_a_move_out],
    ids=lambda save: save.__name__,
)
def test_each_kind_of_file_is_followed(
    environ: dict[str, str], tree: Path, save: Callable[[Path, bytes], None]
) -> None:
    async def work(host: Host) -> None:
        handle = await opened(host, tree, environ)
        assert handle.state().watch.how in ("native", "polling", "none")
        for number, (path, text) in enumerate(KINDS.items()):
            whole, name = tree / path, f"quite_new_{number}"
            before = whole.read_bytes() if whole.exists() else None
            save(whole, (before or b"") + text.format(name=name).encode())
            assert (await traced(handle, name)).found, path
            if before is None:
                whole.unlink()
            else:
                save(whole, before)
            assert not (await traced(handle, name)).found, path

    hosted(work)


def test_each_step_is_reflected_and_all_comes_back(
    environ: dict[str, str], tree: Path, tmp_path: Path
) -> None:
    async def work(host: Host) -> None:
        handle = await opened(host, tree, environ)
        baseline = await facts(handle)
        new = tree / NATIVE / "Untracked.cpp"
        for text in ("int one_new();", "int two_new();"):
            new.write_text(f"namespace at::native {{ {text} }}")
            assert (await traced(handle, text[4:11])).found
        new.unlink()
        assert not (await traced(handle, "two_new")).found
        for path in ("aten/src/ATen/native/LinearAlgebra.cpp", "torch/nn"):
            shutil.rmtree(tree / path) if (tree / path).is_dir() else (tree / path).unlink()
            assert await facts(handle) != baseline
            git(tree, "checkout", "--", path)
            assert await facts(handle) == baseline
        (tree / NATIVE / "cpu").rename(tree / NATIVE / "moved")
        assert await facts(handle) == fresh(tree, tmp_path / "fresh")
        (tree / NATIVE / "moved").rename(tree / NATIVE / "cpu")
        assert await facts(handle) == baseline

    hosted(work)


# -- git


def test_the_commit_and_branch_are_those_of_the_tree(environ: dict[str, str], tree: Path) -> None:
    async def work(host: Host) -> None:
        handle = await opened(host, tree, environ)

        async def said() -> tuple[str, str]:
            standing = (await traced(handle, "mul")).standing
            other = (await handle.ask(status, LONG)).standing
            assert (other.commit, other.branch) == (standing.commit, standing.branch)
            return standing.commit, standing.branch

        first = git(tree, "rev-parse", "HEAD")
        assert await said() == (first, "main")
        # Without a change of any file.
        second = commit(tree, "empty")
        assert await said() == (second, "main")
        git(tree, "checkout", "-q", "-b", "other")
        assert await said() == (second, "other")
        (tree / "torch/functional.py").write_text("def only_here(x):\n    return x\n")
        shutil.rmtree(tree / "torch/linalg")
        third = commit(tree, "files")
        assert await said() == (third, "other")
        assert (await traced(handle, "torch.functional.only_here")).found
        git(tree, "checkout", "-q", "main")
        assert await said() == (second, "main")
        assert not (await traced(handle, "torch.functional.only_here")).found
        git(tree, "checkout", "-q", third)
        assert await said() == (third, "")
        assert (await traced(handle, "torch.functional.only_here")).found

    hosted(work)


def test_a_checkout_of_many_files_is_followed(environ: dict[str, str], tree: Path, tmp_path: Path) -> None:
    for n in range(207):
        (tree / NATIVE / f"Many{n}.cpp").write_text(f"namespace at::native {{ int many_{n}(); }}")
    git(tree, "checkout", "-q", "-b", "many")
    commit(tree, "many")
    git(tree, "checkout", "-q", "main")

    async def work(host: Host) -> None:
        handle = await opened(host, tree, environ)
        for branch, there in (("many", True), ("main", False), ("many", True)):
            git(tree, "checkout", "-q", branch)
            answer = await traced(handle, "many_206")
            assert (answer.found, answer.standing.branch) == (there, branch)
        assert await facts(handle) == fresh(tree, tmp_path / "fresh")

    hosted(work)


# -- one ignore list


def test_a_rule_of_the_trees_manifest_is_obeyed_at_once(environ: dict[str, str], tree: Path) -> None:
    manifest = tree / ".torchtalk.toml"

    async def work(host: Host) -> None:
        handle = await opened(host, tree, environ)
        assert (await traced(handle, "mul_kernel")).found
        manifest.write_text(
            'format = 1\nextends = "pytorch"\n[files]\nignore = ["aten/src/ATen/native/cpu/**"]\n'
        )
        assert not [item for item in (await traced(handle, "mul_kernel")).items if "/cpu/" in item.file]
        # What is ignored is not heard any more, what is not is.
        (tree / NATIVE / "cpu/New.cpp").write_text("namespace at::native { int ignored_now(); }")
        (tree / NATIVE / "New.cpp").write_text("namespace at::native { int heard_now(); }")
        assert (await traced(handle, "heard_now")).found
        assert not (await traced(handle, "ignored_now")).found
        manifest.write_text("this is no manifest")
        answer = await handle.ask(lambda view: trace(view, "heard_now"))
        assert answer.found and answer.standing.waiting
        manifest.unlink()
        assert (await traced(handle, "ignored_now")).found
        assert handle.state().error == ""

    hosted(work)


# -- events that never come


async def promised(_: Watching) -> bool:
    return True


@pytest.fixture
def deaf(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is heard of the tree after the first sweep, though it was promised."""
    monkeypatch.setattr(Watching, "settled", promised)
    monkeypatch.setattr(
        Watching, "_pass_on", lambda self, age, batch: "start" in batch.sweep and self._heard(batch)
    )


@pytest.mark.usefixtures("deaf")
def test_a_cited_file_that_moved_on_is_read_again_first(environ: dict[str, str], tree: Path) -> None:
    path = tree / NATIVE / "LinearAlgebra.cpp"

    async def work(host: Host) -> None:
        handle = await opened(host, tree, environ)
        before = [
            item.line for item in (await traced(handle, "matmul")).items if item.file.endswith(path.name)
        ]
        path.write_text("\n\n\n" + path.read_text("utf-8"), "utf-8")
        after = [
            item.line for item in (await traced(handle, "matmul")).items if item.file.endswith(path.name)
        ]
        assert after == [line + 3 for line in before]
        path.unlink()
        assert path.name not in str((await traced(handle, "matmul")).items)

    hosted(work)


@pytest.mark.usefixtures("deaf")
def test_what_moves_faster_than_it_is_read_is_left_out(
    environ: dict[str, str], tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tree / NATIVE / "LinearAlgebra.cpp"

    async def never(self: Freshness, paths: set[str], deadline: float) -> bool:
        return False

    async def work(host: Host) -> None:
        handle = await opened(host, tree, environ)
        whole = await traced(handle, "matmul")
        monkeypatch.setattr(Freshness, "reread", never)
        path.write_text("\n" + path.read_text("utf-8"), "utf-8")
        answer = await handle.ask(lambda view: trace(view, "matmul"))
        assert answer.standing.waiting == 1
        assert answer.found and len(answer.items) == answer.total < whole.total
        assert not [i for i in answer.items if path.name in (Path(i.file).name, Path(i.declared_file).name)]

    hosted(work)


def test_without_a_promise_the_tree_is_swept(
    environ: dict[str, str], mini_tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def none(_: Watching) -> bool:
        return False

    monkeypatch.setattr(Watching, "settled", none)
    path = mini_tree / NATIVE / "LinearAlgebra.cpp"

    async def work(host: Host) -> None:
        handle = await opened(host, mini_tree, environ)
        before = path.read_text("utf-8")
        for text in ("namespace at::native { int quite_new(); }\n" + before, before):
            path.write_text(text, "utf-8")
            assert (await traced(handle, "quite_new")).found == ("quite_new" in text)

    hosted(work)


def test_a_watch_that_cannot_begin_is_said_and_done_without(
    environ: dict[str, str], tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise OSError("no watches here")

    monkeypatch.setattr("torchtalkd.daemon.watching.watch", refused)

    async def work(host: Host) -> None:
        handle = await opened(host, tree, environ)
        (tree / NATIVE / "New.cpp").write_text("namespace at::native { int quite_new(); }")
        assert (await traced(handle, "quite_new")).found
        watched = handle.state().watch
        assert watched.how == "none" and "no watches here" in watched.note

    hosted(work)


def test_a_watch_that_opens_while_its_loop_ends_is_closed(
    environ: dict[str, str], tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opens, may_open, closed = threading.Event(), threading.Event(), threading.Event()

    class Slow:
        def close(self) -> None:
            closed.set()

    def slow(*_: object, **__: object) -> Slow:
        opens.set()
        assert may_open.wait(LONG)
        return Slow()

    monkeypatch.setattr("torchtalkd.daemon.watching.watch", slow)

    async def work(threads: ThreadPoolExecutor) -> None:
        Watching(Root(tree, "pytorch", "named", False), threads, lambda _: None).open()
        await asyncio.get_running_loop().run_in_executor(None, opens.wait, LONG)

    with ThreadPoolExecutor(1) as threads:
        asyncio.run(work(threads))
        may_open.set()
    assert closed.is_set()


def spied(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The paths of each build from here on; None for the whole tree."""
    asked: list[Any] = []
    real = Keepers.build

    async def build_and_tell(self: Keepers, *arguments: Any, **more: Any) -> Built:
        built = await real(self, *arguments, **more)
        asked.append(more["paths"])
        return built

    monkeypatch.setattr(Keepers, "build", build_and_tell)
    return asked


async def turned(state: Callable[[], object]) -> None:
    """Lets the loop go round until a state."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + LONG
    while not state():
        assert loop.time() < deadline, "never"
        future = loop.create_future()
        loop.call_later(0.01, future.set_result, None)
        await future


def test_what_was_just_read_is_looked_at_once_more(
    environ: dict[str, str], tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(second_look, "AGAIN_SECONDS", 0.2)
    asked = spied(monkeypatch)

    async def work(host: Host) -> None:
        handle = await opened(host, tree, environ)
        await turned(lambda: len(asked) == 2)
        assert asked == [None, None], "all of a first index"
        (tree / NATIVE / "New.cpp").write_text("namespace at::native { int quite_new(); }")
        assert (await traced(handle, "quite_new")).found
        await turned(lambda: [paths for paths in asked[2:] if f"{NATIVE}/New.cpp" in (paths or ())][1:])
        # And not again for ever.
        seen = len(asked)
        assert (await traced(handle, "quite_new")).found
        assert len(asked) == seen

    hosted(work)


def test_what_was_in_the_way_and_went_is_noticed(
    environ: dict[str, str], tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(second_look, "AGAIN_SECONDS", 0.2)
    asked = spied(monkeypatch)

    async def work(host: Host) -> None:
        handle = await opened(host, tree, environ)
        await turned(lambda: len(asked) == 2)
        # Folders in folders, deeper than a path can say: the last of them cannot be listed.
        above = os.open(tree, os.O_RDONLY)
        for _ in range(22):
            os.mkdir("d" * 200, dir_fd=above)
            below = os.open("d" * 200, os.O_RDONLY, dir_fd=above)
            os.close(above)
            above = below
        os.close(above)
        assert not (await traced(handle, "mul")).standing.complete
        subprocess.run(["rm", "-rf", "d" * 200], cwd=tree, check=True)
        await turned(lambda: handle.state().complete)
        assert (await traced(handle, "mul")).standing.complete

    hosted(work)


def test_a_failure_of_a_moment_ago_says_nothing_of_now(
    environ: dict[str, str], tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where a try takes so long that it is not made for each question."""
    monkeypatch.setattr(freshness, "QUICK_SECONDS", 0.0)
    # No try but those that are asked for.
    monkeypatch.setattr(freshness, "RETRY_SECONDS", (LONG * 2, 2.0))

    async def work(host: Host) -> None:
        handle = await opened(host, tree, environ)
        tree.rename(tmp_path / "aside")
        with pytest.raises(NotReady, match="is not there"):
            await handle.ask(lambda view: trace(view, "mul"), LONG)
        (tmp_path / "aside").rename(tree)
        assert (await traced(handle, "mul")).found

    hosted(work)


def test_the_log_does_not_grow_without_end(
    environ: dict[str, str], tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(freshness, "LOG_BYTES_AT_ONCE", 200_000)
    log = index_folder(tree, environ) / "index.db-wal"
    path = tree / NATIVE / "New.cpp"

    async def work(host: Host) -> None:
        handle = await opened(host, tree, environ)
        largest = 0
        for n in range(40):
            names = "".join(f"int quite_new_{n}_{i}();\n" for i in range(100))
            path.write_text(f"namespace at::native {{ {names} }}")
            assert (await traced(handle, f"quite_new_{n}_7")).found
            largest = max(largest, log.stat().st_size)
        assert largest < 600_000

    hosted(work)


def test_a_storm_is_bounded(environ: dict[str, str], tree: Path) -> None:
    async def work(host: Host) -> None:
        handle = await opened(host, tree, environ)
        fresh = (await handle.tree()).fresh
        await traced(handle, "mul")
        fresh.heard(ChangeBatch(frozenset({"torch"})))
        for n in range(5):
            fresh.heard(ChangeBatch(frozenset(f"{n}/{i}.cpp" for i in range(MOST_PATHS // 3))))
        assert len(fresh._queue.paths) <= MOST_PATHS
        assert "overflow" in fresh._queue.sweep
        assert (await traced(handle, "mul")).found

    hosted(work)


# -- what goes wrong


@pytest.mark.parametrize("kind", ["StoreFull", "NotPermitted", "OSError"])
def test_nothing_is_lost_while_nothing_can_be_written(
    environ: dict[str, str], tree: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    async def full(self: Keepers, *_: object, **__: object) -> Built:
        raise BuildFailed(kind, "the disk is full")

    async def work(host: Host) -> None:
        handle = await opened(host, tree, environ)
        await traced(handle, "mul")
        with monkeypatch.context() as patch:
            patch.setattr(Keepers, "build", full)
            (tree / NATIVE / "New.cpp").write_text("namespace at::native { int quite_new(); }")
            answer = await handle.ask(lambda view: trace(view, "mul"), LONG)
            assert answer.found and answer.standing.waiting >= 1
            assert handle.state().error == "the disk is full"
        # Room again: the next question has what was heard meanwhile.
        assert (await traced(handle, "quite_new")).found
        assert handle.state().error == ""

    hosted(work)


@pytest.mark.parametrize("how", ["moved", "emptied", "cloned"])
def test_a_tree_that_is_away_is_said_and_its_index_kept(
    environ: dict[str, str], tree: Path, tmp_path: Path, how: str
) -> None:
    async def work(host: Host) -> None:
        handle = await opened(host, tree, environ)
        baseline = await facts(handle)
        aside = tmp_path / "aside"
        if how == "cloned":
            shutil.copytree(tree, aside, symlinks=True)
            shutil.rmtree(tree)
        else:
            tree.rename(aside)
        if how == "emptied":
            tree.mkdir()

        async def ask_on() -> None:
            # Until it is noticed the answers of a tree that is being deleted are as they are.
            while True:
                await handle.ask(lambda view: trace(view, "mul"))

        with pytest.raises(NotReady, match="is not there"):
            await ask_on()
        assert handle.state().revision
        assert (index_folder(tree, environ) / "index.db").exists()
        if how == "emptied":
            tree.rmdir()
        (aside / NATIVE / "New.cpp").write_text("namespace at::native { int quite_new(); }")
        aside.rename(tree)

        async def back() -> bool:
            try:
                return (await handle.ask(lambda view: trace(view, "quite_new"), LONG)).found
            except NotReady:
                return False

        while not await back():
            pass
        assert (await traced(handle, "mul")).found
        (tree / NATIVE / "New.cpp").unlink()
        assert await facts(handle) == baseline

    hosted(work)


def test_a_keeper_that_is_killed_loses_nothing(environ: dict[str, str], tree: Path, tmp_path: Path) -> None:
    async def work(host: Host) -> None:
        handle = await opened(host, tree, environ)
        for n in range(5):
            (tree / NATIVE / f"New{n}.cpp").write_text(f"namespace at::native {{ int quite_new_{n}(); }}")
            asking = asyncio.ensure_future(traced(handle, f"quite_new_{n}"))
            await turned(lambda asking=asking: host.keepers._busy or asking.done())  # type: ignore[misc]
            for keeper in host.keepers._busy:
                keeper.process.kill()
            assert (await asking).found
        assert await facts(handle) == fresh(tree, tmp_path / "fresh")

    hosted(work)


def test_a_slow_question_holds_up_no_other(environ: dict[str, str], tree: Path) -> None:
    async def work(host: Host) -> None:
        handle = await opened(host, tree, environ)
        go = threading.Event()
        slow = asyncio.ensure_future(handle.ask(lambda view: go.wait(LONG)))
        try:
            assert (await traced(handle, "mul")).found
            assert handle.state().revision
            assert not slow.done()
        finally:
            go.set()
        await slow

    hosted(work)


def test_watches_end_with_their_trees_and_begin_again(
    environ: dict[str, str], tmp_path: Path, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hosts, "MOST_TREES", 2)
    roots = [shutil.copytree(tree, tmp_path / name) for name in ("one", "two", "three")]

    async def work(host: Host) -> None:
        handles = [await opened(host, root, environ) for root in roots]
        closed = await handles[0].tree()
        assert closed.fresh.closed
        (roots[0] / NATIVE / "New.cpp").write_text("namespace at::native { int quite_new(); }")
        assert (await traced(handles[0], "quite_new")).found
        assert not closed.fresh.closed
        assert len(host.trees()) == 2

    hosted(work)


# -- with processes


def test_a_session_and_commands_see_the_same_tree(home: Home, tree: Path) -> None:
    assert home.run("trace", "mul", "--source", tree).returncode == 0
    with home.connected("mcp", source=str(tree)) as session:

        def told(number: int, name: str) -> str:
            session.send(json.loads(call(number, "trace", func=name, wait=True)))
            while (answer := session.read()).get("id") != number:
                pass
            return str(answer["result"]["content"][0]["text"])

        session.send(json.loads(INITIALIZE))
        assert session.read()["id"] == 0
        session.send(json.loads(INITIALIZED))
        path = tree / NATIVE / "LinearAlgebra.cpp"
        for n in range(1, 4):
            path.write_text(path.read_text() + f"\nnamespace at::native {{ int appended_{n}(); }}\n")
            assert path.name in told(n, f"appended_{n}")
            assert home.run("trace", f"appended_{n}", "--wait", "--source", tree).returncode == 0
        # A build without the daemon, while it is up: its revision is served by the next answer.
        path.write_text(path.read_text() + "\nnamespace at::native { int by_command(); }\n")
        assert home.run("index", "build", "--no-daemon", "--source", tree).returncode == 0
        assert path.name in told(9, "by_command")


def test_status_says_how_the_tree_is_watched(home: Home, tree: Path) -> None:
    told = home.json("status", "--source", tree, "--no-daemon")
    assert told["watch"]["how"] == "none"
    assert home.run("trace", "mul", "--wait", "--source", tree).returncode == 0
    told = home.json("status", "--source", tree)
    assert set(told["watch"]) == {"how", "note", "folders"}
    assert told["watch"]["how"] in ("native", "partly", "polling")
    assert (told["branch"], told["commit"]) == ("main", git(tree, "rev-parse", "HEAD"))
    commit(tree, "another")
    assert home.json("status", "--source", tree)["commit"] == git(tree, "rev-parse", "HEAD")
    assert f"watch: {told['watch']['how']}" in home.run("status", "--source", tree).stdout


def test_many_clients_at_once_all_succeed(home: Home, tree: Path) -> None:
    running = []
    for n in range(4):
        (tree / NATIVE / f"New{n}.cpp").write_text(f"namespace at::native {{ int quite_new_{n}(); }}")
        running.append(home.start("trace", f"quite_new_{n}", "--wait", "--source", tree))
        running.append(home.start("index", "build", "--source", tree))
    for process in running:
        _, err = process.communicate(timeout=120)
        assert process.returncode == 0, err


@pytest.mark.parametrize("victim", ["daemon", "keeper"])
def test_a_kill_at_any_moment_loses_nothing_committed(
    home: Home, tree: Path, tmp_path: Path, victim: str
) -> None:
    assert home.run("trace", "mul", "--source", tree).returncode == 0
    for n in range(4):
        path = tree / NATIVE / f"New{n}.cpp"
        path.write_text(f"namespace at::native {{ int quite_new_{n}(); }}")
        process = home.start("trace", f"quite_new_{n}", "--wait", "--source", tree)
        pid = home.pid()
        if victim == "daemon":
            os.kill(pid, signal.SIGKILL)
            until(lambda pid=pid: not alive(pid), "it ends")  # type: ignore[misc]
        else:
            for child in children(pid):
                os.kill(child, signal.SIGKILL)
        _, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        assert home.run("trace", f"quite_new_{n}", "--wait", "--source", tree).returncode == 0
    home.run("stop")
    home.run("index", "build", "--no-daemon", "--source", tree)
    with open_view(index_folder(tree, home.environ)) as view:
        assert list(dump(view)) == fresh(tree, tmp_path / "fresh")


def test_a_work_tree_is_a_root_of_its_own(home: Home, tree: Path, tmp_path: Path) -> None:
    second = tmp_path / "second"
    git(tree, "worktree", "add", "-q", str(second), "-b", "second")
    assert home.run("trace", "mul", "--source", tree).returncode == 0
    path = second / NATIVE / "LinearAlgebra.cpp"
    path.write_text(path.read_text() + "\nnamespace at::native { int only_in_second(); }\n")
    told = home.json("trace", "only_in_second", "--wait", "--source", second)
    assert (told["branch"], told["waiting"]) == ("second", 0)
    assert told["items"]
    assert home.run("trace", "only_in_second", "--wait", "--source", tree).returncode == 1
