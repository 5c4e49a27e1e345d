"""What lies where a file is expected: pipes, devices, sockets, links out of the tree."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from torchtalkd.compilation.plain_files import plain_bytes, plain_text
from torchtalkd.compilation.special_files import leading_to_special


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = (tmp_path / "root").resolve()
    (root / "inc").mkdir(parents=True)
    (root / "inc" / "a.h").write_text("int a;\n")
    os.mkfifo(root / "inc" / "pipe.h")
    (root / "inc" / "zero.h").symlink_to("/dev/zero")
    (root / "inc" / "dev").symlink_to("/dev")
    (root / "inc" / "out.h").symlink_to("/etc/hostname")
    return root


def test_only_a_regular_file_is_read(tree: Path) -> None:
    assert plain_bytes(tree / "inc/a.h", 100) == b"int a;\n"
    assert plain_bytes(tree / "inc/a.h", 3) is None
    for name in ("inc/pipe.h", "inc/zero.h", "inc/dev/zero", "inc", "inc/absent.h", "inc/a\0.h"):
        assert plain_bytes(str(tree / name), 100) is None


def test_a_text_of_the_tree_is_in_the_tree(tree: Path) -> None:
    assert plain_text(tree, "inc/a.h", 100) == "int a;\n"
    assert plain_text(tree, "inc/out.h", 100) is None
    assert plain_text(tree, "../root/inc/a.h", 100) == "int a;\n"
    assert plain_text(tree, "../outside.h", 100) is None
    (tree / "latin.h").write_bytes(b"\xff")
    assert plain_text(tree, "latin.h", 100) is None


@pytest.mark.parametrize(
    ("name", "special"),
    [
        ("a.h", ""),
        ("absent.h", ""),
        ("dev", ""),
        ("pipe.h", "inc/pipe.h"),
        ("zero.h", "inc/zero.h"),
        ("dev/zero", "inc/dev/zero"),
        ("../inc/pipe.h", "inc/../inc/pipe.h"),
    ],
)
def test_an_include_that_no_reader_survives_is_found_first(tree: Path, name: str, special: str) -> None:
    expected = {"src/x.cpp": str(tree / special)} if special else {}
    files = {"src/x.cpp": ["a.h", name], "src/y.cpp": ["a.h"]}
    assert leading_to_special(tree, files, [str(tree), str(tree / "inc")]) == expected
    # From the includer's own folder, too.
    beside = leading_to_special(tree, {"inc/x.h": [name]}, [])
    assert beside == ({"inc/x.h": str(tree / special)} if special else {})


def test_an_absolute_include_and_a_socket_are_found(tree: Path) -> None:
    assert leading_to_special(tree, {"a.cpp": ["/dev/zero"]}, []) == {"a.cpp": "/dev/zero"}
    with socket.socket(socket.AF_UNIX) as listening:
        here = os.getcwd()
        os.chdir(tree / "inc")  # The path of a socket may have no more than 100 letters.
        try:
            listening.bind("s.h")
        finally:
            os.chdir(here)
        found = leading_to_special(tree, {"a.cpp": ["x.h", "s.h"]}, [str(tree / "inc")])
        assert found == {"a.cpp": str(tree / "inc/s.h")}
