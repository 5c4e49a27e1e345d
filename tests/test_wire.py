"""Where the socket lies, who may be trusted there, and the hellos."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY
from tests.daemons import Home, new_home
from torchtalkd import run_folder as places
from torchtalkd import wire


@pytest.fixture
def home() -> Iterator[Home]:
    with new_home() as home:
        yield home


def test_the_build_changes_with_any_file_of_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "torchtalkd"
    (package / "parse").mkdir(parents=True)
    code = package / "parse" / "cpp.py"
    code.write_text("x = 1", "utf-8")
    monkeypatch.setattr(places, "PACKAGE", str(package))
    seen = {wire.build_id()}
    assert wire.build_id() in seen
    (package / "notes.txt").write_text("no code", "utf-8")
    assert wire.build_id() in seen
    code.write_text("x = 2", "utf-8")
    os.utime(code, ns=(1, 1))
    seen.add(wire.build_id())
    os.utime(code, ns=(2, 2))
    seen.add(wire.build_id())
    (package / "schema.sql").write_text("", "utf-8")
    seen.add(wire.build_id())
    monkeypatch.setattr(places, "__version__", "99")
    seen.add(wire.build_id())
    assert len(seen) == 5
    assert all(len(build) == 8 for build in seen)


def test_the_folder_is_private_and_the_path_holds_no_root(home: Home) -> None:
    path = wire.socket_path(home.environ)
    assert path == home.run_folder / f"{wire.build_id()}.sock"
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_without_a_runtime_folder_the_cache_has_it(home: Home) -> None:
    del home.environ["XDG_RUNTIME_DIR"]
    assert wire.run_folder(home.environ) == home.folder / "cache" / "torchtalk" / "run"
    home.environ["XDG_RUNTIME_DIR"] = "relative/is/ignored"
    assert wire.run_folder(home.environ) == home.folder / "cache" / "torchtalk" / "run"
    home.environ["XDG_RUNTIME_DIR"] = str(home.folder / "gone")
    assert wire.run_folder(home.environ) == home.folder / "cache" / "torchtalk" / "run"
    (home.folder / "cache/torchtalk/run").rmdir()
    assert not wire.socket_path(home.environ, make=False).parent.exists()


def test_a_path_that_is_too_long_is_replaced_by_a_recorded_one(home: Home) -> None:
    home.environ["XDG_CACHE_HOME"] = str(home.folder / ("long" * 30))
    del home.environ["XDG_RUNTIME_DIR"]
    folder = wire.run_folder(home.environ)
    try:
        assert len(os.fsencode(wire.socket_path(home.environ))) <= places.LONGEST_PATH
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert wire.run_folder(home.environ) == folder
        folder.chmod(0o755)
        other = wire.run_folder(home.environ)
        assert other != folder
        other.rmdir()
    finally:
        folder.rmdir()


@pytest.mark.parametrize("mode", [0o755, 0o770, 0o701])
def test_a_folder_that_is_open_to_others_is_refused(home: Home, mode: int) -> None:
    home.run_folder.mkdir()
    home.run_folder.chmod(mode)
    with pytest.raises(wire.WireError, match="chmod 700"):
        wire.run_folder(home.environ)


def test_a_folder_of_somebody_else_or_a_link_is_refused(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    (home.folder / "elsewhere").mkdir(mode=0o700)
    home.run_folder.symlink_to(home.folder / "elsewhere")
    with pytest.raises(wire.WireError, match="no folder"):
        wire.run_folder(home.environ)
    home.run_folder.unlink()
    home.run_folder.mkdir(mode=0o700)
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    with pytest.raises(wire.WireError, match="another user"):
        wire.check_private(home.run_folder)


def test_a_runtime_folder_of_another_user_is_not_used(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: real + 1)
    assert places._first_choice(home.environ) == str(home.folder / "cache" / "torchtalk" / "run")


def test_the_peer_is_who_it_says(home: Home) -> None:
    one, other = socket.socketpair(socket.AF_UNIX)
    with one, other:
        assert wire.peer_uid(one) == os.geteuid()


def test_no_daemon_is_started_where_none_is_wanted(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XDG_RUNTIME_DIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, home.environ[name])
    with pytest.raises(wire.NoDaemon):
        wire.connect("control", start=False)
    assert wire.daemons(os.environ) == []
    assert not home.run_folder.exists()


def test_what_is_no_daemon_is_not_believed(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XDG_RUNTIME_DIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, home.environ[name])
    path = wire.socket_path(os.environ)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))
        listening.listen()
        with pytest.raises(wire.WireError, match="does not answer"):
            wire.connect("control", start=False, timeout=0.2)
        path.unlink()


def test_a_client_imports_the_standard_library_only() -> None:
    program = "import sys; b = set(sys.modules); import torchtalkd.wire; print(sorted(set(sys.modules) - b))"
    done = subprocess.run(
        [sys.executable, "-S", "-c", program], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    loaded = set(eval(done.stdout))
    assert {name for name in loaded if name.partition(".")[0] not in sys.stdlib_module_names} == {
        "torchtalkd",
        "torchtalkd.run_folder",
        "torchtalkd.wire",
    }
    assert not {"asyncio", "subprocess", "tempfile", "hashlib", "dataclasses", "typing_extensions"} & loaded
