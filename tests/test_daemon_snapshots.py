"""Snapshots beside a running daemon: it brings the index up for a save, and answers from what was loaded."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest

from tests.conftest import DEMO_TREE
from tests.daemons import Home
from tests.test_vcs import git

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")

SHAPE = "aten/src/ATen/native/TensorShape.cpp"
HEADER = "aten/src/ATen/native/DispatchStub.h"


@pytest.fixture
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    """A home with a daemon that has a committed tree open."""
    folder = tmp_path_factory.mktemp("h")
    shutil.copytree(DEMO_TREE, folder / "tree", ignore=shutil.ignore_patterns("__pycache__"))
    git(folder / "tree", "init", "-q", "-b", "trunk")
    git(folder / "tree", "add", "-A")
    git(folder / "tree", "commit", "-q", "-m", "one")
    made = Home(folder)
    made.environ["TORCHTALK_SOURCE"] = str(folder / "tree")
    assert made.run("trace", "roll").returncode == 0
    yield made
    made.end()


def added(home: Home, name: str, path: str = SHAPE) -> None:
    with open(home.folder / "tree" / path, "a", encoding="utf-8") as file:
        file.write(f"\nnamespace at::native {{ void {name}() {{}} }}\n")


def knows(home: Home, name: str) -> bool:
    return home.run("trace", name, "--wait").returncode == 0


def test_a_save_has_what_was_written_just_before_it(home: Home) -> None:
    pid = home.pid()
    added(home, "just_now")
    saved = home.json("snapshot", "save", "one")
    assert saved["changed"] == 1
    git(home.folder / "tree", "checkout", "-q", "--", ".")
    assert not knows(home, "just_now")
    found = home.json("snapshot", "diff", "one", "current")
    assert found["files_modified"] == [SHAPE]
    assert home.pid() == pid


def test_a_load_while_clients_are_connected(home: Home) -> None:
    home.json("snapshot", "save", "one")
    added(home, "first_edit")
    assert knows(home, "first_edit")
    before = home.json("status")["revision"]
    with home.connected("command") as client:
        loaded = home.json("snapshot", "load", "one")
        # What differs was read again before anybody could ask.
        assert loaded["built"]["revision"] > before
        client.send({"argv": ["trace", "first_edit", "--json"], "columns": 80, "isatty": False})
        frames = [client.read() for _ in range(2)]
        assert frames[-1] == {"exit": 0}
    # The watch goes on with the other database.
    added(home, "second_edit")
    assert knows(home, "second_edit")
    assert knows(home, "first_edit")
    git(home.folder / "tree", "checkout", "-q", "--", ".")
    assert not knows(home, "first_edit")
    assert "Traceback" not in home.log()


def test_an_update_goes_through_the_daemon(home: Home) -> None:
    home.json("snapshot", "save", "base")
    added(home, "in_a_header", HEADER)
    found = home.json("index", "update", "--since", "base")
    assert found["since"]["changed"] == [HEADER]
    assert len(found["since"]["units"]) > 3
    assert found["built"]["parsed"] >= len(found["since"]["units"])
    assert knows(home, "in_a_header")
    assert "index update" in home.log()
    refused = home.run("index", "update", "--since", "nothing")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "there is no snapshot called nothing" in refused.stderr
