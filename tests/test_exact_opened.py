"""What an editor has open is read exactly before all else."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, cast

import pytest

from tests.exact_tree import ExactTree
from torchtalkd.daemon import exact as daemon_exact
from torchtalkd.daemon.editors import Editors
from torchtalkd.daemon.exact import Exact
from torchtalkd.engine.exact import ExactReading
from torchtalkd.engine.exact_queue import Queue
from torchtalkd.frontends.host import NotReady, OpenRoot
from torchtalkd.frontends.lsp.desk import Desk
from torchtalkd.roots import Root

FILES = {f"c10/{name}.cpp": f"int {name}(int x) {{ return x; }}\n" for name in "abcdef"}


def next_path(queue: Queue) -> str:
    """The file that would be read next."""
    task = queue.next_task(urgent=False)
    assert task is not None
    (item,) = task.subject.items
    return str(item.wanted.path)


def test_open_files_are_read_first(tmp_path: Path) -> None:
    tree = ExactTree(tmp_path / "tree", tmp_path / "store", FILES)
    tree.by_name()
    reading = ExactReading(tree.root, tree.folder, tree.conventions)
    assert reading.refresh(["c10/e.cpp", "c10/absent.cpp"])
    queue = reading._queue
    assert queue is not None
    assert next_path(queue) == "c10/e.cpp"
    # One that is opened while others are read goes before them, though the tree is as it was.
    assert reading.refresh(["c10/e.cpp", "c10/f.cpp"])
    assert next_path(queue) == "c10/f.cpp"
    assert {next_path(queue) for _ in range(4)} == {f"c10/{name}.cpp" for name in "abcd"}


class Sent:
    """A process's stdin that keeps what it is told."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.stdin = self

    def write(self, data: bytes) -> None:
        self.requests.append(json.loads(data))


def test_the_process_hears_of_what_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    told = Sent()

    async def run() -> None:
        exact = Exact(Root(tmp_path, "pytorch", "base", False), tmp_path, asyncio.Lock())
        one, other = object(), object()
        exact.opens(one, ["a.cpp"])
        assert told.requests == []  # Nothing is read: the next request says it.
        exact._process, exact._turn_is_ours = cast(Any, told), True
        exact.opens(other, ["b.cpp", "a.cpp"])
        exact.opens(one, [])
        exact.opens(other, ["b.cpp"])
        exact.opens(one, ["c.cpp"])

    asyncio.run(run())
    assert [request["opened"] for request in told.requests] == [["a.cpp", "b.cpp"], ["b.cpp", "c.cpp"]]
    assert [request["number"] for request in told.requests] == [1, 2]


def test_an_answer_to_an_earlier_request_ends_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))

    async def run() -> str:
        exact = Exact(Root(tmp_path, "pytorch", "base", False), tmp_path, asyncio.Lock())
        process = Sent()
        reader = asyncio.StreamReader()
        for number, off in ((1, "early"), (2, "late")):
            done = {"done": {"off": off, "notes": [], "total": 0}, "number": number}
            reader.feed_data(json.dumps(done).encode() + b"\n")
        cast(Any, process).stdout = reader
        exact._process = cast(Any, process)
        assert exact._send()
        assert exact._send()
        await exact._followed(cast(Any, process))
        return exact.error

    assert asyncio.run(run()) == "late"


def test_a_configuration_that_cannot_be_read_is_told_and_waits_for_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setattr(daemon_exact, "reads_exactly", lambda environ: True)
    (tmp_path / "torchtalk").mkdir()
    (tmp_path / "torchtalk/config.toml").write_text("[torchtalkd\n")

    async def run() -> str:
        exact = Exact(Root(tmp_path, "pytorch", "base", False), tmp_path, asyncio.Lock())
        exact.go()
        _, _, error = await asyncio.wait_for(exact.finished(lambda phase, done, total: None), 60)
        await exact.close()
        return error

    assert "config.toml" in asyncio.run(run())


class EditorHost:
    """A host with one root that keeps what it is told."""

    is_named = False

    def __init__(self, root: str) -> None:
        self.root = OpenRoot(root, cast(Any, None), cast(Any, self))
        self.told: list[dict[str, list[str]]] = []

    def language(self, path: str) -> str:
        return ""

    async def configured(self) -> OpenRoot:
        raise NotReady("none")

    async def around(self, folder: str) -> OpenRoot:
        if not f"{folder}/".startswith(f"{self.root.path}/"):
            raise NotReady("none")
        return self.root

    def has_open(self, paths: Mapping[str, Collection[str]]) -> None:
        self.told.append({root: sorted(several) for root, several in paths.items()})


def test_the_server_says_what_is_open(tmp_path: Path) -> None:
    root = str(tmp_path.resolve() / "root")
    host = EditorHost(root)

    async def run() -> None:
        desk = Desk(cast(Any, host))
        names = [f"file://{root}/c10/a.cpp", f"file://{root}/c10/b.cpp", f"file://{tmp_path}/else.cpp"]
        for name in names:
            desk.open_document(name, "", 1)
            await desk._paused(desk.documents[name])
        desk.close_document(names[0])
        desk.close()

    asyncio.run(run())
    assert host.told == [
        {root: ["c10/a.cpp"]},
        {root: ["c10/a.cpp", "c10/b.cpp"]},
        {root: ["c10/b.cpp"]},
        {},
    ]


def test_each_tree_is_told_of_its_own(tmp_path: Path) -> None:
    class Host:
        def __init__(self) -> None:
            self.told: dict[str, list[str]] = {}

        def trees(self) -> list[Any]:
            class Tree:
                def __init__(self, path: str, told: dict[str, list[str]]) -> None:
                    self.root = Root(Path(path), "pytorch", "base", False)
                    self.exact, self._told = self, told

                def opens(self, editor: object, paths: Collection[str]) -> None:
                    self._told[str(self.root.path)] = sorted(paths)

            return [Tree("/one", self.told), Tree("/two", self.told)]

    host = Host()
    Editors(cast(Any, host), None, None, "/", {}).has_open({"/one": {"a.cpp"}})
    assert host.told == {"/one": ["a.cpp"], "/two": []}
