"""The configuration file: what it says, and that a change touches nothing else."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from torchtalkd.config import (
    Config,
    ConfigError,
    config_path,
    forget_source,
    read_config,
    remember_source,
)

FOREIGN = """\
# Mine, please keep.
pytorch_source = "/old"   # and this

[index]
workers = [1,
  2]

[torchtalkd]
extra = { a = 1 }   # a key of a later version
default = "/a"

["torchtalkd.sources.not"]
x = '''
[torchtalkd.sources]
"/trap" = "no"
'''
"""


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"XDG_CONFIG_HOME": str(tmp_path / "config"), "HOME": str(tmp_path / "home")}


def write(environ: dict[str, str], text: str) -> Path:
    path = config_path(environ)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


def test_no_file_says_nothing(environ: dict[str, str]) -> None:
    assert read_config(environ) == Config("", {})


def test_what_is_remembered_is_read_back(environ: dict[str, str]) -> None:
    remember_source(environ, "/src/py torch\\\"'=é\x7f\n", "pytorch", default=True)
    remember_source(environ, "/b", "torch-extension", default=False)
    assert read_config(environ) == Config(
        "/src/py torch\\\"'=é\x7f\n", {"/src/py torch\\\"'=é\x7f\n": "pytorch", "/b": "torch-extension"}
    )
    assert forget_source(environ, "/src/py torch\\\"'=é\x7f\n")
    assert read_config(environ) == Config("", {"/b": "torch-extension"})
    assert not forget_source(environ, "/never")


def test_a_second_time_replaces_the_first(environ: dict[str, str]) -> None:
    remember_source(environ, "/a", "pytorch", default=True)
    remember_source(environ, "/a", "torch-extension", default=True)
    assert read_config(environ) == Config("/a", {"/a": "torch-extension"})
    assert config_path(environ).read_text("utf-8").count("/a") == 2


def test_every_other_line_stays(environ: dict[str, str]) -> None:
    path = write(environ, FOREIGN)
    remember_source(environ, "/b", "pytorch", default=True)
    assert path.read_text("utf-8") == (
        FOREIGN.replace('default = "/a"', 'default = "/b"') + '\n[torchtalkd.sources]\n"/b" = "pytorch"\n'
    )
    assert read_config(environ) == Config("/b", {"/b": "pytorch"})
    forget_source(environ, "/b")
    assert path.read_text("utf-8") == FOREIGN.replace('default = "/a"\n', "") + "\n[torchtalkd.sources]\n"


@pytest.mark.parametrize("text", ['torchtalkd = { default = "/a" }\n', 'torchtalkd.default = "/a"\n'])
def test_a_spelling_that_cannot_be_edited_is_left_alone(environ: dict[str, str], text: str) -> None:
    path = write(environ, text)
    assert read_config(environ).default == "/a"
    with pytest.raises(ConfigError, match=r"config\.toml"):
        remember_source(environ, "/b", "pytorch", default=True)
    assert path.read_text("utf-8") == text


def test_the_default_of_torchtalk_counts(environ: dict[str, str]) -> None:
    write(environ, '[source]\npytorch_source = "/theirs"\n')
    assert read_config(environ).default == "/theirs"
    remember_source(environ, "/ours", "pytorch", default=True)
    assert read_config(environ).default == "/ours"


@pytest.mark.parametrize(
    "text",
    ["[torchtalkd\n", "[torchtalkd]\ndefault = 1\n", "torchtalkd = 3\n", "[torchtalkd.sources]\n'/a' = 1\n"],
)
def test_a_wrong_file_is_named(environ: dict[str, str], text: str) -> None:
    path = write(environ, text)
    with pytest.raises(ConfigError) as caught:
        read_config(environ)
    assert str(path) in str(caught.value)


def test_not_utf8_is_said(environ: dict[str, str]) -> None:
    write(environ, "").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="not UTF-8"):
        read_config(environ)


def test_a_link_to_the_file_stays_a_link(environ: dict[str, str], tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.toml"
    real.write_text("# here\n", "utf-8")
    path = config_path(environ)
    path.parent.mkdir(parents=True)
    path.symlink_to(real)
    remember_source(environ, "/a", "pytorch", default=False)
    assert path.is_symlink()
    assert "# here" in real.read_text("utf-8")
    assert read_config(environ).sources == {"/a": "pytorch"}


def test_nothing_but_the_file_is_left_behind(environ: dict[str, str]) -> None:
    remember_source(environ, "/a", "pytorch", default=False)
    assert [path.name for path in config_path(environ).parent.iterdir()] == ["config.toml"]


def test_relative_base_folders_are_ignored(tmp_path: Path) -> None:
    environ = {"XDG_CONFIG_HOME": "relative", "HOME": str(tmp_path)}
    assert config_path(environ) == tmp_path / ".config" / "torchtalk" / "config.toml"


def test_writers_at_the_same_moment_lose_nothing(environ: dict[str, str]) -> None:
    roots = [f"/tree/{n}" for n in range(12)]
    barrier = threading.Barrier(len(roots))

    def remember(root: str) -> None:
        barrier.wait()
        remember_source(environ, root, "pytorch", default=False)

    threads = [threading.Thread(target=remember, args=(root,)) for root in roots]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(read_config(environ).sources) == sorted(roots)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written(environ: dict[str, str]) -> None:
    folder = write(environ, "").parent
    folder.chmod(0o500)
    with pytest.raises(OSError, match="Permission"):
        remember_source(environ, "/a", "pytorch", default=False)
