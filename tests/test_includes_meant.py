"""Which file an include means."""

from __future__ import annotations

from pathlib import Path

from torchtalkd.compilation.headers import OUTSIDE, Headers


def test_the_first_of_several_is_meant(tmp_path: Path) -> None:
    (tmp_path / "sys").mkdir()
    for name in ("stdio.h", "b.h"):
        (tmp_path / "sys" / name).touch()
    there = {"a/b.h", "inc/b.h", "inc/x/c.h", "/made/inc/d.h"}
    headers = Headers(there, ["", "/made/inc", "inc"], [str(tmp_path / "sys")])
    # Beside the file that includes it, then in the folders, those of others last.
    assert headers.meant("a/a.cpp", "b.h") == "a/b.h"
    assert headers.meant("a/a.cpp", "b.h", beside=False) == "inc/b.h"
    assert headers.meant("a/a.cpp", "../inc/x/../b.h") == "inc/b.h"
    assert headers.meant("a/a.cpp", "d.h") == "/made/inc/d.h"
    assert headers.meant("a/a.cpp", "stdio.h") == OUTSIDE
    assert headers.meant("a/a.cpp", "nowhere.h") is None
    # What is beside one file is not beside another.
    assert headers.meant("inc/x/e.h", "c.h") == "inc/x/c.h"
    assert headers.meant("a/a.cpp", "c.h") is None
