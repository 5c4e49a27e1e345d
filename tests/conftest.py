"""What all tests share: where real trees are, a small tree of our own, a home that is nobody's.

Real trees (PyTorch and others, as published) are large, so they stand outside the repository:
`$TORCHTALK_TREES` names a folder with `pytorch`, `vision`, … in it. Tests that need one say so
with the marker `real_tree` and take the fixture `trees` or `pytorch_tree`; without the variable
they are skipped with the reason. Tests that take minutes carry the marker `full` and run only
with `--full`.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

REPOSITORY = Path(__file__).resolve().parents[1]
DEMO_TREE = REPOSITORY / "torchtalkd" / "demo_tree"
TREES = REPOSITORY / "tests" / "trees"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--full", action="store_true", help="also run the tests that take minutes")


def pytest_configure(config: pytest.Config) -> None:
    # Tests of random histories ask for this profile's name: they try many more, and other ones.
    settings.register_profile("full")
    if config.getoption("--full"):
        settings.load_profile("full")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--full"):
        for item in items:
            if "full" in item.keywords:
                item.add_marker(pytest.mark.skip(reason="takes minutes: runs with --full"))
    if not os.environ.get("TORCHTALK_TREES"):
        for item in items:
            if "real_tree" in item.keywords:
                item.add_marker(pytest.mark.skip(reason=_NO_TREES))
    # The real trees come last: a plain mistake shows before they are read.
    items.sort(key=lambda item: "real_tree" in item.keywords)


_NO_TREES = "needs real source trees: set TORCHTALK_TREES to a folder that holds `pytorch`"


@pytest.fixture(scope="session")
def trees() -> Path:
    """The folder with the real trees; skips where there is none."""
    value = os.environ.get("TORCHTALK_TREES")
    if not value:
        pytest.skip(_NO_TREES)
    folder = Path(value).resolve()
    if not folder.is_dir():
        pytest.fail(f"TORCHTALK_TREES names {folder}, which is no folder")
    return folder


@pytest.fixture(scope="session")
def pytorch_tree(trees: Path) -> Path:
    """A real checkout of PyTorch; skips where there is none."""
    folder = trees / "pytorch"
    if not (folder / "version.txt").is_file():
        pytest.skip(f"needs PyTorch's source in {folder}")
    return folder


@pytest.fixture(scope="session", autouse=True)
def _nobodys_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No test reads or writes the configuration or the cache of the person who runs it."""
    home = tmp_path_factory.mktemp("home")
    (home / "run").mkdir(mode=0o700)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(home / "config"))
        patch.setenv("XDG_CACHE_HOME", str(home / "cache"))
        patch.setenv("XDG_RUNTIME_DIR", str(home / "run"))
        # A daemon for each test's home would outlive the tests: those about it say so.
        patch.setenv("TORCHTALK_NO_DAEMON", "1")
        # What is read exactly has tests of its own, which turn it on.
        patch.setenv("TORCHTALK_EXACT", "off")
        for name in ("TORCHTALK_SOURCE", "PYTORCH_SOURCE", "TORCHTALK_DEBUG"):
            patch.delenv(name, raising=False)
        yield


@pytest.fixture
def mini_tree(tmp_path: Path) -> Path:
    """A fresh copy of the small PyTorch-shaped tree, to change at will."""
    return _copy(DEMO_TREE, tmp_path / "mini")


@pytest.fixture
def extension_tree(tmp_path: Path) -> Path:
    """A fresh copy of the small extension (operators and bindings outside of PyTorch)."""
    return _copy(TREES / "extension", tmp_path / "extension")


def _copy(source: Path, target: Path) -> Path:
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
    return target
