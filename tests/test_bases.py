"""Which root is the framework that a tree depends on."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.conftest import DEMO_TREE, _copy
from torchtalkd.bases import MOST_OTHERS, Known, base_of, bases_of, choose, known_root, known_roots
from torchtalkd.cache import index_folder
from torchtalkd.config import read_config, remember_source
from torchtalkd.conventions import load
from torchtalkd.engine import build
from torchtalkd.roots import RootError


def root(
    path: str, *harnesses: str, needs: tuple[str, ...] = (), default: bool = False, used: float = 0
) -> Known:
    return Known(Path(path), harnesses[0], harnesses, needs, Path("/i"), False, True, default, used)


EXT = root("/ext", "vllm", "torch-extension", needs=("pytorch",))
ONE = root("/one", "pytorch", "torch-extension", used=1)
TWO = root("/two", "pytorch", "torch-extension", used=2)
OWN = root("/own", "mine", "pytorch", "torch-extension", used=3)


def test_the_only_one_else_the_default_else_the_last_used() -> None:
    def chosen(*roots: Known) -> str:
        found = base_of("pytorch", roots, asked=EXT.path)
        return str(found.path) if found else ""

    assert chosen() == chosen(EXT) == ""
    assert chosen(ONE) == "/one"
    assert chosen(ONE, TWO) == "/two"
    assert chosen(TWO, ONE._replace(default=True)) == "/one"
    # A harness that extends the framework's is one of it.
    assert chosen(ONE, OWN, TWO) == "/own"
    assert bases_of(EXT, [ONE, EXT]) == {"pytorch": "/one"}
    assert bases_of(ONE, [ONE, EXT, TWO]) == {}


def test_what_is_wanted_and_what_is_related() -> None:
    sibling = root("/sib", "torchvision", "torch-extension", needs=("pytorch",), used=5)
    above = root("/above", "plugin", needs=("vllm",), used=9)
    known = [EXT, ONE, TWO, sibling, above]

    def chosen(asked: Known, **more: object) -> list[tuple[str, str]]:
        return [(str(c.root.path), c.base) for c in choose(asked, known, **more)]  # type: ignore[arg-type]

    assert chosen(EXT, wants=("pytorch",)) == [("/two", "pytorch")]
    assert chosen(EXT, wants=()) == []
    assert chosen(EXT) == [("/two", "pytorch"), ("/above", ""), ("/sib", "")]
    assert chosen(ONE) == [("/sib", ""), ("/ext", "")]
    assert chosen(EXT, wants=("pytorch",), given=ONE) == [("/one", "pytorch")]
    with pytest.raises(RootError, match="--base names /sib, a tree of torchvision; /ext depends on pytorch"):
        chosen(EXT, wants=(), given=sibling)
    with pytest.raises(RootError, match="depends on no other framework"):
        chosen(ONE, wants=(), given=TWO)
    many = [root(f"/{n}", "e", needs=("pytorch",), used=n) for n in range(20)]
    assert len(choose(ONE, many)) == MOST_OTHERS


def test_roots_are_known_from_configuration_cache_and_use(
    tmp_path: Path, mini_tree: Path, extension_tree: Path
) -> None:
    environ = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "XDG_CONFIG_HOME": str(tmp_path / "config")}
    assert known_roots(environ) == []
    third = _copy(DEMO_TREE, tmp_path / "third")
    remember_source(environ, str(extension_tree), "torch-extension", default=False)
    remember_source(environ, str(tmp_path / "gone"), "pytorch", default=False)
    build(mini_tree, index_folder(mini_tree, environ), load("pytorch", tree=mini_tree), workers=1)
    found = {str(r.path): r for r in known_roots(environ, {str(third): 7.0})}
    assert found.keys() == {str(extension_tree), str(mini_tree), str(third)}
    assert found[str(mini_tree)].indexed
    assert not found[str(extension_tree)].indexed
    assert found[str(extension_tree)].depends_on == ("pytorch",)
    assert (found[str(third)].harness, found[str(third)].used) == ("pytorch", 7.0)
    assert found[str(mini_tree)].used > 0


def test_a_manifest_of_the_trees_own_says_what_it_is(tmp_path: Path, mini_tree: Path) -> None:
    environ = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "XDG_CONFIG_HOME": str(tmp_path / "config")}
    config = read_config(environ)
    manifest = mini_tree / ".torchtalk.toml"
    manifest.write_text('format = 1\nname = "mine"\nextends = "pytorch"\n', "utf-8")
    found = known_root(mini_tree, "pytorch", environ, config=config)
    assert found is not None
    assert found.harnesses[:2] == ("mine", "pytorch")
    assert base_of("pytorch", [found], asked=EXT.path) == found
    manifest.write_text("wrong = [", "utf-8")
    assert known_root(mini_tree, "pytorch", environ, config=config) is None
    assert known_root(Path(os.devnull), "pytorch", environ, config=config) is None
