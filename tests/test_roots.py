"""Which tree is meant: the order of what may say so, and a clear sentence where nothing does."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from torchtalkd.config import Config
from torchtalkd.roots import Root, RootError, choose_root

NOTHING = Config()


def choose(
    source: str | None = None,
    harness: str | None = None,
    *,
    cwd: Path,
    config: Config = NOTHING,
    environ: dict[str, str] | None = None,
) -> Root:
    return choose_root(source, harness, environ=environ or {}, cwd=cwd, config=config)


def test_the_flag_comes_first(mini_tree: Path, extension_tree: Path, tmp_path: Path) -> None:
    environ = {"TORCHTALK_SOURCE": str(mini_tree)}
    chosen = choose(str(extension_tree), cwd=mini_tree, environ=environ, config=Config(str(mini_tree)))
    assert chosen == Root(extension_tree, "torch-extension", "--source")


def test_then_the_variables_in_their_order(mini_tree: Path, extension_tree: Path, tmp_path: Path) -> None:
    both = {"TORCHTALK_SOURCE": str(mini_tree), "PYTORCH_SOURCE": str(extension_tree)}
    assert choose(cwd=extension_tree, environ=both) == Root(mini_tree, "pytorch", "TORCHTALK_SOURCE")
    one = {"TORCHTALK_SOURCE": "", "PYTORCH_SOURCE": str(mini_tree)}
    assert choose(cwd=tmp_path, environ=one) == Root(mini_tree, "pytorch", "PYTORCH_SOURCE")


def test_then_the_tree_around_the_current_folder(mini_tree: Path) -> None:
    cwd = mini_tree / "aten" / "src" / "ATen"
    assert choose(cwd=cwd, config=Config("/elsewhere")) == Root(mini_tree, "pytorch", "current folder")


def test_a_work_tree_is_searched_from_its_top(mini_tree: Path, extension_tree: Path) -> None:
    inside = mini_tree / "test" / "extension"
    extension_tree.rename(inside)
    assert choose(cwd=inside / "csrc").path == inside
    (mini_tree / ".git").mkdir()
    assert choose(cwd=inside / "csrc").path == mini_tree


def test_the_search_ends_at_the_top_of_the_work_tree(mini_tree: Path) -> None:
    nested = mini_tree / "third_party" / "thing"
    nested.mkdir(parents=True)
    (nested / ".git").write_text("gitdir: elsewhere\n", "utf-8")
    with pytest.raises(RootError):
        choose(cwd=nested)


def test_then_the_configured_default(mini_tree: Path, tmp_path: Path) -> None:
    assert choose(cwd=tmp_path, config=Config(str(mini_tree))) == Root(mini_tree, "pytorch", "default")


def test_nothing_says_what_can_be_done(tmp_path: Path) -> None:
    with pytest.raises(RootError, match=r"--source PATH.*TORCHTALK_SOURCE.*init"):
        choose(cwd=tmp_path)


def test_relative_paths_and_links_are_one_root(mini_tree: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(mini_tree)
    assert choose("link", cwd=tmp_path).path == choose("mini", cwd=tmp_path).path == mini_tree


@pytest.mark.parametrize("folder", ["build", "tests", "with space", "é", "third_party"])
def test_any_folder_may_hold_a_checkout(mini_tree: Path, tmp_path: Path, folder: str) -> None:
    (tmp_path / folder).mkdir()
    moved = mini_tree.rename(tmp_path / folder / "mini")
    assert choose(str(moved), cwd=tmp_path).harness == "pytorch"


def test_the_harness_can_be_said(mini_tree: Path, tmp_path: Path) -> None:
    assert choose(str(mini_tree), "torch-extension", cwd=tmp_path).harness == "torch-extension"
    plain = tmp_path / "plain"
    plain.mkdir()
    assert choose(str(plain), "pytorch", cwd=tmp_path).harness == "pytorch"
    remembered = Config(sources={str(mini_tree): "torch-extension"})
    assert choose(str(mini_tree), cwd=tmp_path, config=remembered).harness == "torch-extension"


@pytest.mark.parametrize(
    ("source", "harness", "message"),
    [
        ("missing", None, "does not exist"),
        ("", None, "names no path"),
        ("mini/version.txt", None, "is a file"),
        (".", None, r"does not look like .*known harnesses are .*pytorch"),
        ("mini/aten", None, r"inside .*mini"),
        ("mini", "tensorflow", r"no harness 'tensorflow'; known harnesses are .*pytorch"),
    ],
)
@pytest.mark.usefixtures("mini_tree")
def test_a_wrong_path_is_told_in_a_sentence(
    tmp_path: Path, source: str, harness: str | None, message: str
) -> None:
    with pytest.raises(RootError, match=message):
        choose(source, harness, cwd=tmp_path)


def test_a_variable_with_a_wrong_path_is_named(mini_tree: Path, tmp_path: Path) -> None:
    with pytest.raises(RootError, match=r"PYTORCH_SOURCE names .*which does not exist"):
        choose(cwd=mini_tree, environ={"PYTORCH_SOURCE": str(tmp_path / "gone")})


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_folder_that_may_not_be_read(mini_tree: Path, tmp_path: Path) -> None:
    mini_tree.chmod(0)
    try:
        with pytest.raises(RootError, match="Permission denied"):
            choose(str(mini_tree), cwd=tmp_path)
    finally:
        mini_tree.chmod(0o700)
