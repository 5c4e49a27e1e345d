"""The engine: any history equals a fresh build, and no file, crash or signal spoils the index."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from torchtalkd.conventions import Conventions
from torchtalkd.conventions.values import Cpp, Files, Python
from torchtalkd.engine import (
    BuildResult,
    Limits,
    Progress,
    TreeError,
    WorkersFailed,
    build,
    engine,
    gather,
    reading,
    workers,
)
from torchtalkd.engine.plan import SUSPECT_NS, plan, recipes
from torchtalkd.engine.reading import Task
from torchtalkd.engine.sweep import Sweep, sweep
from torchtalkd.facts import Definition, FileFacts, Problem, Reference, Rules
from torchtalkd.store import connection
from torchtalkd.store.database import open_view, open_writer
from torchtalkd.store.dump import dump
from torchtalkd.store.errors import StoreFull
from torchtalkd.store.stamp import stamp

REPOSITORY = Path(__file__).resolve().parents[1]
CONVENTIONS = Conventions(
    "tests",
    1,
    files=Files(
        ignore=("**/.git", "build/**"),
        languages={".cpp": "cpp", ".py": "python"},
        tests=("test/**",),
        max_bytes=10_000,
    ),
    rules=Rules(harness="tests", wrapper_prefixes={"torch.linalg": ("torch._C._linalg",)}),
    fingerprint="1",
)


def parse(path: str, data: bytes, conventions: Conventions) -> FileFacts:
    """A language of our own: `def NAME` and `use NAME` lines, and words that do harm."""
    definitions: list[Definition] = []
    references: list[Reference] = []
    problems: list[Problem] = []
    for number, line in enumerate(data.decode().splitlines(), 1):
        verb, _, name = line.partition(" ")
        match verb:
            case "def":
                definitions.append(Definition(f"cpp:{name}", name, "function", number, 4, number))
            case "bind":
                definitions.append(Definition(f"op:{name}", name, "registration", number, 4, number))
                owner = len(definitions) - 1
                references.append(Reference(f"cpp:{name}", name, "target", number, 5, owner))
            case "use":
                references.append(Reference(f"cpp:{name}", name, "call", number, 4, len(definitions) - 1))
            case "odd":
                problems.append(Problem(number, "syntax", name))
            case "exit":
                os._exit(int(name))
            case "abort":
                os.abort()
            case "hang":
                while True:
                    pass
            case "hog":
                definitions.append(Definition(str(bytearray(16 << 30)), "", "function", 1, 0, 1))
            case "negative":
                references.append(Reference("cpp:x", "x", "call", -5, 0))
            case "raise":
                raise RuntimeError(name)
            case "wait":
                # Holds the pipe open for as long as this process lives.
                descriptor = os.open(name, os.O_WRONLY)
                os.write(descriptor, f"{os.getpid()}\n".encode())
                signal.pause()
            case "unlink":
                Path(name).unlink(missing_ok=True)
    language = "python" if path.endswith(".py") else "cpp"
    return FileFacts(path, language, "library", tuple(definitions), tuple(references), tuple(problems))


class Tree:
    """A tree and its store; `build` is the engine with the parser above."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.root = root
        self.folder = folder
        root.mkdir(exist_ok=True)

    def write(self, files: dict[str, str | None]) -> None:
        for path, text in files.items():
            whole = self.root / path
            if text is None:
                whole.unlink(missing_ok=True)
            else:
                whole.parent.mkdir(parents=True, exist_ok=True)
                whole.write_text(text)

    def build(self, conventions: Conventions = CONVENTIONS, **settings: Any) -> BuildResult:
        settings = {"parse": parse, "version": "1", "workers": 2} | settings
        return build(self.root, self.folder, conventions, **settings)

    def dump(self) -> list[str]:
        with open_view(self.folder) as view:
            return list(dump(view))

    def problems(self) -> dict[str, str]:
        with open_view(self.folder) as view:
            return {path: problem.kind for path, problem in view.problems()}

    def complete(self) -> str:
        with open_view(self.folder) as view:
            return view.meta("complete")


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path / "tree", tmp_path / "store")


def many(count: int = 40) -> dict[str, str | None]:
    return {f"src/{n}.cpp": f"def f{n}\nuse f{n + 1}\nbind op{n}\n" for n in range(count)}


# -- first builds and what is read again


def test_a_first_build_reads_everything(tree: Tree) -> None:
    tree.write(many() | {"build/x.cpp": "def no", "readme.txt": "def no", "test/t.py": "use f1"})
    seen: list[Progress] = []
    result = tree.build(progress=seen.append)
    assert (result.revision, result.files, result.parsed, result.removed) == (1, 41, 41, 0)
    assert result.complete
    assert not result.notes
    assert seen[0].phase == "sweep"
    assert seen[-1] == Progress("store", 41, 41)
    assert [p.done for p in seen if p.phase == "read"] == sorted(p.done for p in seen if p.phase == "read")
    with open_view(tree.folder) as view:
        assert len(view.definitions("cpp:f7")) == 1
        assert view.meta("complete") == "1"
        assert view.meta("harness") == "tests"
        assert view.rules == CONVENTIONS.rules
        assert not view.definitions("cpp:no")


def test_an_unchanged_tree_makes_no_revision(tree: Tree) -> None:
    tree.write(many())
    tree.build()
    result = tree.build()
    assert (result.revision, result.parsed, result.files, result.complete) == (1, 0, 40, True)


def test_only_what_changed_is_read(tree: Tree) -> None:
    tree.write(many())
    tree.build()
    tree.write({"src/3.cpp": "def other", "src/4.cpp": None, "new.cpp": "def new"})
    result = tree.build()
    assert (result.revision, result.parsed, result.removed, result.files) == (2, 2, 1, 40)
    with open_view(tree.folder) as view:
        assert view.definitions("cpp:other")
        assert not view.definitions("cpp:f3")
        assert not view.definitions("cpp:f4")
        assert view.file("new.cpp")


def test_the_same_bytes_with_another_stat_are_not_read_again(tree: Tree) -> None:
    tree.write(many())
    tree.build()
    os.utime(tree.root / "src/3.cpp", ns=(5, 5))
    assert tree.build().parsed == 0
    with open_view(tree.folder) as view:
        assert view.stats(["src/3.cpp"])["src/3.cpp"][1] == 5
        assert view.revision == 1


def test_no_stat_is_too_large_for_the_store(tree: Tree) -> None:
    """A clock may be anywhere, and some file systems number their files with all 64 bits."""
    tree.write(many(3))
    tree.build()
    at = tree.root / "src/1.cpp"
    late = 13_569_465_600 * 10**9  # In the year 2400; where that cannot be kept, it is cut.
    os.utime(at, ns=(late, late))
    tree.build()
    tree.write({"src/1.cpp": "def other"})
    os.utime(at, ns=(late, late))
    tree.build()
    with open_view(tree.folder) as view:
        assert view.definitions("cpp:other")
        assert view.stats(["src/1.cpp"])["src/1.cpp"] == stamp(at.stat())
    assert tree.build().parsed == 0


@pytest.mark.parametrize("number", [0, 5, 2**63 - 1, -(2**63)])
def test_a_stamp_fits_a_database_and_differs_where_the_stat_does(number: int) -> None:
    def stat(inode: int) -> os.stat_result:
        times = {"st_mtime_ns": 3, "st_ctime_ns": -4}
        return os.stat_result((0o100644, inode, 1, 1, 0, 0, 7, 0, 0, 0), times)

    assert stamp(stat(number)) == (7, 3, number, -4)
    beyond = stamp(stat(2**63 + 5))
    assert -(2**63) <= beyond.inode < 2**63
    assert beyond != stamp(stat(2**63 + 6)) != stamp(stat(number))


def test_a_change_that_leaves_the_stat_alone_is_seen_while_it_is_suspect(tree: Tree) -> None:
    tree.write({"a.cpp": "def one"})
    tree.build()
    found = (tree.root / "a.cpp").stat()
    tree.write({"a.cpp": "def two"})
    os.utime(tree.root / "a.cpp", ns=(found.st_atime_ns, found.st_mtime_ns))
    assert tree.build().parsed == 1
    with open_view(tree.folder) as view:
        assert view.definitions("cpp:two")


def test_an_old_file_is_known_by_its_stat_alone(tree: Tree) -> None:
    tree.write({"a.cpp": "def one"})
    old = time.time_ns() - 10 * SUSPECT_NS
    os.utime(tree.root / "a.cpp", ns=(old, old))
    tree.build()
    swept = sweep(tree.root, CONVENTIONS)
    with open_writer(tree.folder, tree.root) as writer:
        known = writer.files()
    assert len(plan(known, swept, recipes(CONVENTIONS, "1")).check) == 1, "its ctime is of this moment"
    later = known["a.cpp"].ctime_ns + 2 * SUSPECT_NS
    known = {"a.cpp": known["a.cpp"]._replace(read_ns=later)}
    assert plan(known, swept, recipes(CONVENTIONS, "1")) == ([], [], [], [])
    assert plan(known, swept, recipes(CONVENTIONS, "2")).read == swept.entries
    record = known["a.cpp"]
    for near in (record.mtime_ns - 1, record.mtime_ns + 1, record.ctime_ns - 1, record.ctime_ns + 1):
        planned = plan({"a.cpp": record._replace(read_ns=near)}, swept, recipes(CONVENTIONS, "1"))
        assert [entry.path for entry, _ in planned.check] == ["a.cpp"]


def test_what_cannot_be_listed_is_neither_there_nor_gone(tree: Tree) -> None:
    tree.write({"a.cpp": "def a", "deep/b.cpp": "def b"})
    tree.build()
    with open_writer(tree.folder, tree.root) as writer:
        known = writer.files()
    seen = sweep(tree.root, CONVENTIONS)
    hidden = Sweep([entry for entry in seen.entries if entry.path == "a.cpp"], {"deep": "Permission denied"})
    assert plan(known, hidden, recipes(CONVENTIONS, "1")).delete == []
    assert plan(known, hidden._replace(blind={}), recipes(CONVENTIONS, "1")).delete == ["deep/b.cpp"]


def test_a_table_of_one_language_reads_that_language_again(tree: Tree) -> None:
    tree.write({"a.cpp": "def a", "b.cpp": "def b", "c.py": "def c"})
    tree.build()
    assert tree.build(replace(CONVENTIONS, python=Python(roots=("src",)), fingerprint="2")).parsed == 1
    assert tree.build(replace(CONVENTIONS, cpp=Cpp(launchers=("gpu",)), fingerprint="3")).parsed == 3
    assert tree.build(replace(CONVENTIONS, fingerprint="4")).parsed == 2
    assert tree.build(replace(CONVENTIONS, expected_minimums={"function": 2}, fingerprint="5")).parsed == 0
    other = replace(CONVENTIONS.files, tests=("a.cpp",))
    assert tree.build(replace(CONVENTIONS, files=other, fingerprint="6")).parsed == 1
    assert tree.build(version="2").parsed == 3


def test_a_file_that_is_ignored_from_now_on_is_removed(tree: Tree) -> None:
    tree.write({"a.cpp": "def a", "b.cpp": "def b"})
    tree.build()
    ignoring = replace(CONVENTIONS, files=replace(CONVENTIONS.files, ignore=("b.cpp",)))
    assert tree.build(ignoring).removed == 1


# -- any history equals a fresh build

_LINES = st.lists(
    st.tuples(st.sampled_from(["def", "use", "bind", "odd"]), st.sampled_from("abc")).map(" ".join),
    max_size=5,
)
_PATHS = st.sampled_from(["a.cpp", "b.cpp", "deep/c.cpp", "deep/d.py", "deep/er/e.cpp"])
_EDITS = st.dictionaries(_PATHS, st.none() | _LINES.map("\n".join), max_size=4)


@settings(max_examples=25, deadline=None)
@given(history=st.lists(_EDITS, min_size=1, max_size=5), in_workers=st.booleans())
def test_any_history_equals_a_fresh_build(history: list[dict[str, str | None]], in_workers: bool) -> None:
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        if in_workers:
            patch.setattr(gather, "IN_PROCESS", 0)
        tree = Tree(Path(name) / "tree", Path(name) / "store")
        tree.write({"always.cpp": "def always"})
        for edits in history:
            tree.write(edits)
            tree.build()
        fresh = Tree(tree.root, Path(name) / "fresh")
        fresh.build()
        assert tree.dump() == fresh.dump()


def test_edits_of_a_real_tree_equal_a_fresh_build(mini_tree: Path, tmp_path: Path) -> None:
    pytest.importorskip("torchtalkd.parse.cpp")
    pytest.importorskip("torchtalkd.parse.python")
    from torchtalkd.conventions import load

    conventions = load("pytorch", tree=mini_tree)
    chance = random.Random(2)
    build(mini_tree, tmp_path / "store", conventions, workers=2)
    for _ in range(6):
        files = sorted(
            p for p in mini_tree.rglob("*") if p.is_file() and p.suffix in (".cpp", ".py", ".yaml", ".h")
        )
        for path in chance.sample(files, 3):
            lines = path.read_bytes().splitlines(keepends=True)
            match chance.randrange(4):
                case 0:
                    path.rename(path.with_name("renamed_" + path.name))
                case 1 if lines:
                    lines.insert(0, lines.pop())
                case 2 if lines:
                    del lines[chance.randrange(len(lines))]
                case _:
                    lines.append(b"\n")
            if path.exists():
                path.write_bytes(b"".join(lines))
        build(mini_tree, tmp_path / "store", conventions, workers=2)
    build(mini_tree, tmp_path / "fresh", conventions, workers=2)
    with open_view(tmp_path / "store") as one, open_view(tmp_path / "fresh") as two:
        assert list(dump(one)) == list(dump(two))


# -- bad files


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("exit 3", "crash"),
        ("exit 0", "crash"),
        ("abort", "crash"),
        ("hang", "time"),
        ("raise it", "crash"),
        ("negative", "crash"),
    ],
)
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_bad_file_costs_itself_alone(
    tree: Tree, text: str, kind: str, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if method == "spawn" and text not in ("exit 3", "hang"):
        pytest.skip("two are enough: a spawned worker takes long to start")
    monkeypatch.setattr(workers, "_start_method", lambda: method)
    tree.write(many() | {"bad.cpp": f"def bad\n{text}\n"})
    result = tree.build(limits=Limits(seconds=0.3 if kind == "time" else 60))
    assert result.complete
    assert result.files == 41
    assert tree.problems() == {"bad.cpp": kind}
    with open_view(tree.folder) as view:
        assert all(view.definitions(f"cpp:f{n}") for n in range(40))
        assert not view.definitions("cpp:bad")
    again = tree.build()
    assert again.parsed == 0, "a file that cost a worker is not tried again until it changes"
    tree.write({"bad.cpp": "def good"})
    assert tree.build().parsed == 1
    assert tree.problems() == {}


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="no working limit elsewhere")
def test_a_file_that_takes_all_memory_costs_itself_alone(tree: Tree) -> None:
    tree.write(many() | {"bad.cpp": "hog"})
    tree.build(limits=Limits(memory=256 << 20))
    assert tree.problems() == {"bad.cpp": "crash"}


def test_several_bad_files_cost_themselves_alone(tree: Tree) -> None:
    bad: dict[str, str | None] = {f"bad{n}.cpp": f"exit {n}" for n in range(5)}
    tree.write(many() | bad)
    tree.build()
    assert tree.problems() == dict.fromkeys(bad, "crash")
    assert tree.build(version="2").files == 45


def test_a_file_that_once_crashed_is_never_parsed_in_process(tree: Tree) -> None:
    tree.write(many() | {"bad.cpp": "exit 3"})
    tree.build()
    tree.write({"bad.cpp": "exit 4"})
    assert tree.build().parsed == 1
    assert tree.problems() == {"bad.cpp": "crash"}


def test_each_file_is_in_one_chunk() -> None:
    tasks = [Task(n, f"{n}.cpp", "cpp", "library", n * 100) for n in range(2000)]
    chunks = list(workers.chunked(tasks, 2))
    assert sorted(task.file_id for chunk in chunks for task in chunk) == list(range(2000))
    costs = [sum(task.size for task in chunk) for chunk in chunks]
    assert costs[-1] < costs[0]
    assert chunks[0][0].size == max(task.size for task in tasks)
    usual = [task.file_id for chunk in chunks for task in chunk if task.size < 100_000]
    assert usual == sorted(usual)


def test_workers_that_do_not_start_are_an_error(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "work", _ends_at_once)
    tree.write(many())
    with pytest.raises(WorkersFailed, match="exit code 7"):
        tree.build()


def test_no_worker_outlives_a_first_build_that_has_nothing_for_it(tree: Tree, tmp_path: Path) -> None:
    with pytest.raises(TreeError):
        build(tmp_path / "missing", tmp_path / "index", CONVENTIONS, workers=2)
    assert not multiprocessing.active_children()
    tree.write({"a.cpp": "def a"})
    assert tree.build().complete
    assert not multiprocessing.active_children()


def _ends_at_once(*_: object) -> None:
    os._exit(7)


def test_a_large_file_is_a_problem(tree: Tree) -> None:
    tree.write({"a.cpp": "def a", "large.cpp": "def large\n" * 2000})
    assert tree.build().complete
    assert tree.problems() == {"large.cpp": "size"}
    assert tree.build().parsed == 0


def test_links_out_of_the_tree_are_refused_and_folders_not_followed(tree: Tree, tmp_path: Path) -> None:
    (tmp_path / "secret.cpp").write_text("def secret")
    tree.write({"deep/a.cpp": "def a"})
    (tree.root / "out.cpp").symlink_to(tmp_path / "secret.cpp")
    (tree.root / "in.cpp").symlink_to("deep/a.cpp")
    (tree.root / "none.cpp").symlink_to("nowhere.cpp")
    (tree.root / "deep" / "loop").symlink_to(tree.root)
    os.mkfifo(tree.root / "pipe.cpp")
    result = tree.build()
    assert result.files == 3
    assert tree.problems() == {"out.cpp": "path"}
    with open_view(tree.folder) as view:
        assert {d.file.path for d in view.definitions("cpp:a")} == {"deep/a.cpp", "in.cpp"}
        assert not view.definitions("cpp:secret")
    assert tree.build().revision == 1
    (tree.root / "out.cpp").unlink()
    tree.write({"out.cpp": "def mine"})
    tree.build()
    assert tree.problems() == {}


def test_a_name_that_is_not_utf_8_is_a_problem(tree: Tree) -> None:
    tree.write({"a.cpp": "def a"})
    try:
        Path(os.fsdecode(os.fsencode(tree.root) + b"/\xff.cpp")).write_text("def b")
    except OSError:
        pytest.skip("this file system takes UTF-8 names only")
    tree.build()
    assert list(tree.problems().values()) == ["path"]
    assert tree.build().revision == 1


# -- files and trees that go


def test_files_that_vanish_for_good_during_the_build_are_not_missing(tree: Tree) -> None:
    gone = tree.root / "z_gone.cpp"
    # The largest file is read first, and takes the other away.
    tree.write(many() | {"first.cpp": f"unlink {gone}\n" + "use x\n" * 500, "z_gone.cpp": "def gone"})
    result = tree.build(workers=1)
    assert result.complete
    assert result.files == 41
    assert any("gone before it was read" in note for note in result.notes)
    fresh = Tree(tree.root, tree.folder.with_name("fresh"))
    fresh.build()
    assert tree.dump() == fresh.dump()


def test_a_file_that_cannot_be_read_makes_the_index_incomplete(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = reading.read_bytes

    def refuse(root: str, path: str, limit: int) -> Any:
        if path == "a.cpp":
            raise PermissionError(13, "Permission denied")
        return plain(root, path, limit)

    tree.write({"a.cpp": "def a", "b.cpp": "def b"})
    monkeypatch.setattr(reading, "read_bytes", refuse)
    monkeypatch.setattr(engine, "read_bytes", refuse)
    # A worker that is no copy of this process would have the plain one.
    monkeypatch.setattr(workers, "_start_method", lambda: "fork")
    for _ in range(2):
        result = tree.build()
        assert not result.complete
        assert result.revision == 1
        assert any("a.cpp: could not be read (Permission denied)" in note for note in result.notes)
        assert tree.complete() == "0"
        assert tree.problems() == {"a.cpp": "unreadable"}
    monkeypatch.undo()
    assert tree.build().complete
    assert tree.complete() == "1"
    assert tree.problems() == {}


def test_a_folder_that_cannot_be_listed_keeps_its_files(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    tree.write({"a.cpp": "def a", "deep/b.cpp": "def b"})
    tree.build()
    plain = os.scandir

    def refuse(path: str) -> Any:
        if path.endswith("deep"):
            raise PermissionError(13, "Permission denied")
        return plain(path)

    with monkeypatch.context() as patch:
        patch.setattr(os, "scandir", refuse)
        result = tree.build()
    assert (result.complete, result.files, result.removed) == (False, 2, 0)
    assert tree.complete() == "0"
    with open_view(tree.folder) as view:
        assert view.definitions("cpp:b")
    assert tree.build().complete
    assert tree.complete() == "1"


def test_a_tree_that_is_missing_or_empty_leaves_the_index_alone(tree: Tree, tmp_path: Path) -> None:
    tree.write({"a.cpp": "def a"})
    tree.build()
    before = tree.dump()
    tree.root.rename(tmp_path / "away")
    with pytest.raises(TreeError, match="does not exist"):
        tree.build()
    tree.root.mkdir()
    with pytest.raises(TreeError, match="no file that tests reads"):
        tree.build()
    assert tree.dump() == before


def test_a_tree_that_goes_during_the_build_leaves_the_index_alone(tree: Tree, tmp_path: Path) -> None:
    tree.write(many())
    tree.build()
    before = tree.dump()

    def go(progress: Progress) -> None:
        if progress.phase == "read" and tree.root.exists():
            tree.root.rename(tmp_path / "away")

    tree.write({f"src/{n}.cpp": "def other" for n in range(30)})
    with pytest.raises(TreeError, match="went away"):
        tree.build(progress=go)
    assert tree.dump() == before


# -- bad stores


def test_damage_that_only_use_shows_is_set_aside(tree: Tree) -> None:
    tree.write(many(300))
    tree.build()
    path = tree.folder / connection.NAME
    size = path.stat().st_size
    with path.open("r+b") as file:
        # All but the first page, which alone is looked at on opening.
        file.seek(4096 * 2)
        file.write(b"\x55" * (size - 4096 * 3))
    result = tree.build(version="2")
    assert "set aside" in result.notes[0]
    assert (result.files, result.complete) == (300, True)
    fresh = Tree(tree.root, tree.folder.with_name("fresh"))
    fresh.build(version="2")
    assert tree.dump() == fresh.dump()


def test_a_full_disk_ends_the_workers_and_keeps_nothing(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = connection.connect_new

    def small(path: Path) -> Any:
        db = plain(path)
        db.execute("PRAGMA max_page_count = 12")
        return db

    tree.write(many(3000))
    with monkeypatch.context() as patch:
        patch.setattr(connection, "connect_new", small)
        with pytest.raises(StoreFull):
            tree.build()
    assert not list(tree.folder.glob("index*"))
    assert tree.build().files == 3000


# -- signals

_PROGRAM = """
import sys
from pathlib import Path
from tests.test_engine import Tree
try:
    Tree(Path(sys.argv[1]), Path(sys.argv[2])).build()
except KeyboardInterrupt:
    sys.exit(130)
"""


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_build_leaves_the_old_index_and_no_process(tree: Tree, how: signal.Signals) -> None:
    tree.write(many())
    tree.build()
    before = tree.dump()
    pipe = tree.root / "pipe"
    os.mkfifo(pipe)
    text = f"wait {pipe}\n" + "use x\n" * 500
    tree.write({f"src/{n}.cpp": "def other" for n in range(30)} | {"wait.cpp": text})
    program = [sys.executable, "-c", _PROGRAM, str(tree.root), str(tree.folder)]
    with subprocess.Popen(
        program, cwd=REPOSITORY, start_new_session=True, stderr=subprocess.PIPE, stdout=subprocess.PIPE
    ) as running:
        with pipe.open() as reader:
            worker = int(reader.readline())
            if how == signal.SIGINT:
                os.killpg(running.pid, signal.SIGINT)
            else:
                running.kill()
            running.wait()
            if how == signal.SIGKILL:
                # Nobody is left to end it but its own time limit; here that takes too long.
                os.kill(worker, signal.SIGKILL)
            # The end of the pipe: the worker has ended, and nobody else had it open.
            assert reader.read() == ""
        assert running.communicate() == (b"", b"")
        assert running.returncode == (130 if how == signal.SIGINT else -signal.SIGKILL)
    assert tree.dump() == before
    tree.write({"wait.cpp": None})
    result = tree.build()
    assert result.complete
    fresh = Tree(tree.root, tree.folder.with_name("fresh"))
    fresh.build()
    assert tree.dump() == fresh.dump()


def test_an_interrupted_first_build_leaves_nothing(tree: Tree) -> None:
    tree.write(many())

    def interrupt(progress: Progress) -> None:
        if progress.phase == "store":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tree.build(progress=interrupt)
    assert not list(tree.folder.glob("index*"))
    assert tree.build().revision == 1
