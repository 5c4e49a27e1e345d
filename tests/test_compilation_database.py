"""compile_commands.json: what is taken from it, and what it cannot do to us."""

from __future__ import annotations

import json
import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from torchtalkd.compilation import commands
from torchtalkd.compilation.database import (
    MOST_ENTRIES,
    MOST_VARIANTS,
    Database,
    find_database,
    read_database,
    split,
)
from torchtalkd.compilation.values import Unit
from torchtalkd.conventions import Conventions, load
from torchtalkd.conventions.compiling import Compilation

SOON = 30.0
"""Seconds in which any database must be dealt with, on a machine that is busy."""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    top = tmp_path / "root"
    for path in ("src/a.cpp", "src/k.cu", "src/cpu/X.cpp", "inc/a.h", "build/gen.cpp", "src/b.mm"):
        (top / path).parent.mkdir(parents=True, exist_ok=True)
        (top / path).write_text("")
    return top


def write(root: Path, entries: Any, place: str = "build") -> Path:
    path = root / place / "compile_commands.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(entries if isinstance(entries, str) else json.dumps(entries))
    return path


def read(root: Path, entries: Any, place: str = "build") -> Database:
    return read_database(write(root, entries, place), root)


def conventions() -> Conventions:
    return replace(load("torch-extension"), compilation=Compilation(includes=("", "inc"), paths=("src",)))


def units(root: Path, entries: Any) -> dict[tuple[str, str], Unit]:
    write(root, entries)
    told = commands(root, conventions(), root.parent / "cache" / "made")
    return {(unit.path, unit.variant): unit for unit in told.units}


def test_both_forms_of_an_entry_say_the_same(root: Path) -> None:
    by_text = {
        "directory": "build",
        "command": "c++ -I../inc -DA='b c' -o a.o -c ../src/a.cpp",
        "file": "../src/a.cpp",
    }
    by_list = {
        "directory": str(root / "build"),
        "arguments": ["c++", "-I../inc", "-DA=b c", "-o", "b.o", "-c", "../src/a.cpp"],
        "file": str(root / "src/a.cpp"),
    }
    # A folder that is not absolute is one from the database's own.
    (first,) = read(root, [{**by_text, "directory": "."}]).entries
    (second,) = read(root, [by_list]).entries
    assert first == second
    assert first.path == "src/a.cpp"
    assert first.flags.arguments == (f"-I{root}/inc", "-DA=b c")


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("c++ -c x.cpp", ["c++", "-c", "x.cpp"]),
        (r'c++ -DA=\"x\" "-DB=\"y z\"" \'', ["c++", '-DA="x"', '-DB="y z"', "'"]),
        ("c++ '-DA=\"q\"' -I'a b'/c \"\"", ["c++", '-DA="q"', "-Ia b/c", ""]),
        ("c++ $(touch x) `touch y` ; touch z", ["c++", "$(touch", "x)", "`touch", "y`", ";", "touch", "z"]),
        ('c++ "never ends', ["c++", "never", "ends"]),
    ],
)
def test_a_command_is_split_and_nothing_in_it_runs(command: str, words: list[str]) -> None:
    assert split(command) == words


def test_copies_that_a_build_compiles_are_their_source(root: Path) -> None:
    entries = []
    for name in ("DEFAULT", "AVX2"):
        copy = root / f"build/src/cpu/X.cpp.{name}.cpp"
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text("")
        entries.append({"directory": ".", "command": f"c++ -DCAP={name} -c {copy}", "file": str(copy)})
    found = read(root, entries).entries
    assert [(one.path, one.variant, one.flags.arguments) for one in found] == [
        ("src/cpu/X.cpp", "DEFAULT", ("-DCAP=DEFAULT",)),
        ("src/cpu/X.cpp", "AVX2", ("-DCAP=AVX2",)),
    ]


def test_a_file_that_several_targets_compile_has_a_unit_for_each(root: Path) -> None:
    entries = [
        {
            "directory": ".",
            "command": f"c++ -D{name} -o CMakeFiles/{name}.dir/a.o -c a",
            "file": "../src/a.cpp",
        }
        for name in ("one", "two")
    ]
    assert [one.variant for one in read(root, entries).entries] == ["one", "two"]
    # The same flags are one unit, and no file has more than some.
    assert len(read(root, entries[:1] * 50).entries) == 1
    many = [{**entries[0], "command": f"c++ -DN={n} -c a"} for n in range(50)]
    assert len(read(root, many).entries) == MOST_VARIANTS


def test_nvcc_is_translated(root: Path) -> None:
    command = (
        "/opt/bin/nvcc -forward-unknown-to-host-compiler -DX -I../inc -std=c++17 -Xcompiler=-fPIC,-DHOST"
        " --generate-code=arch=compute_80,code=[compute_80,sm_80] -x cu -rdc=true -c ../src/k.cu -o k.o"
    )
    found = units(root, [{"directory": str(root / "build"), "command": command, "file": "../src/k.cu"}])
    entry = read(root, [{"directory": ".", "command": command, "file": "../src/k.cu"}]).entries[0]
    assert entry.is_nvcc
    assert entry.flags.kind == "cuda"
    assert entry.flags.arguments == ("-DX", f"-I{root}/inc", "-std=c++17", "-fPIC", "-DHOST")
    for unit in found.values():  # None where the machine has no headers of CUDA.
        if unit.path == "src/k.cu":
            assert unit.arguments[:2] == ("-x", "cuda")
            assert "--cuda-host-only" in unit.arguments


def test_units_that_it_does_not_name_are_made_from_the_manifest(root: Path) -> None:
    found = units(root, [{"directory": ".", "command": "c++ -DA -c a", "file": "../src/a.cpp"}])
    assert found["src/a.cpp", ""].source == "database"
    assert "-DA" in found["src/a.cpp", ""].arguments
    assert found["src/cpu/X.cpp", ""].source == "made"
    assert "-DA" not in found["src/cpu/X.cpp", ""].arguments
    # What a cleaned build no longer has is looked for last in what was made.
    assert found["src/a.cpp", ""].arguments[-1] == f"-I{root}/inc"


def test_what_is_not_the_trees_is_no_unit(root: Path) -> None:
    (root.parent / "other.cpp").write_text("")
    entries = [
        {"directory": ".", "command": "c++ -c x", "file": file}
        for file in (
            "../../other.cpp",
            "/etc/passwd",
            "../src/absent.cpp",
            "/dev/zero",
            "../inc",
            "../src/a.cpp",
        )
    ]
    found = read(root, entries)
    assert [one.path for one in found.entries] == ["src/a.cpp"]
    left = f"5 of the commands in {found.path}: left out, as one is of a file that is not the tree's"
    assert found.notes == (left,)
    # A file that a build made is no source of the tree either.
    assert {path for path, _ in units(root, [*entries, {**entries[0], "file": "gen.cpp"}])} >= {"src/a.cpp"}
    assert "build/gen.cpp" not in {path for path, _ in units(root, [{**entries[0], "file": "gen.cpp"}])}


def test_where_it_is_looked_for(root: Path, tmp_path: Path) -> None:
    assert find_database(root) is None
    old = write(root, [], "build-old")
    os.utime(old, (1, 1))
    new = write(root, [], "build/release")
    assert find_database(root) == new
    top = write(root, [], ".")
    assert find_database(root) == root / "compile_commands.json" == top
    named = write(tmp_path, [], "elsewhere")
    assert find_database(root, named) == named
    assert find_database(root, named.parent) == named
    assert find_database(root, tmp_path / "absent.json") == tmp_path / "absent.json"


ENTRY = {"directory": ".", "command": "c++ -c a", "file": "../src/a.cpp"}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "is not valid JSON"),
        ("{", "is not valid JSON"),
        ("[" * 100_000, "is not valid JSON"),
        ('{"a": 1}', "is not a list of commands"),
        ("3", "is not a list of commands"),
        ("[" + "{}," * MOST_ENTRIES + "{}]", f"more than {MOST_ENTRIES:,}"),
        ("[" + json.dumps(ENTRY) + ("," + json.dumps(ENTRY)) * 999_999 + "]", f"more than {MOST_ENTRIES:,}"),
        ("\udcff\udcfe", "is not valid JSON"),
    ],
    ids=["empty", "broken", "deep", "table", "number", "many", "million", "bytes"],
)
def test_a_database_that_is_none_costs_a_sentence(root: Path, text: str, why: str) -> None:
    path = root / "compile_commands.json"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    started = time.monotonic()
    found = read_database(path, root)
    assert time.monotonic() - started < SOON
    assert found.entries == ()
    assert why in found.notes[0]
    assert str(path) in found.notes[0]


def test_a_database_that_is_no_file_is_not_waited_for(root: Path, tmp_path: Path) -> None:
    for n, make in enumerate(
        (os.mkfifo, os.mkdir, lambda path: os.symlink("/dev/zero", path), lambda path: None)
    ):
        path = tmp_path / f"{n}.json"
        make(path)  # type: ignore[operator]
        found = read_database(path, root)
        assert found.entries == ()
        assert found.notes == (f"{path} is no file that can be read",)


@pytest.mark.parametrize(
    "entry",
    [
        None,
        3,
        [],
        {},
        {"file": 3, "command": "c++"},
        {"file": "a.cpp", "command": ["c++"]},
        {"file": "a.cpp", "arguments": "c++"},
        {"file": "a.cpp", "arguments": ["c++", 3]},
        {"file": "a.cpp", "directory": {}, "command": "c++"},
        {"file": "a\0.cpp", "command": "c++"},
        {"file": "a\ud800.cpp", "command": "c++"},
        {"file": "a.cpp", "directory": "\udcff", "command": "c++"},
        {"file": "a.cpp", "command": "c++ " + "x" * 1_000_001},
        {"file": "a.cpp"},
    ],
)
def test_an_entry_that_is_wrong_costs_itself_alone(root: Path, entry: object) -> None:
    found = read(root, [entry, ENTRY])
    assert [one.path for one in found.entries] == ["src/a.cpp"]
    assert found.notes == (f"1 of the commands in {found.path}: left out, as one cannot be read",)


def test_an_entry_without_words_is_an_entry(root: Path) -> None:
    assert read(root, [{**ENTRY, "command": ""}]).entries[0].flags.arguments == ()
    assert (
        read(root, [{"directory": ".", "file": "../src/a.cpp", "arguments": []}]).entries[0].path
        == "src/a.cpp"
    )


def test_a_large_database_is_read_in_time(root: Path) -> None:
    flags = " ".join(f'-I/some/folder{n} -DN{n}=\\"x\\"' for n in range(60))
    entries = [{**ENTRY, "command": f"c++ {flags} -o {n}.o -c a"} for n in range(8_000)]
    write(root, entries)
    started = time.monotonic()
    found = read_database(root / "build/compile_commands.json", root)
    assert time.monotonic() - started < SOON
    assert len(found.entries) == 1


def test_commands_that_all_differ_are_read_up_to_a_point(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torchtalkd.compilation.database._MOST_FLAGS", 20)
    found = read(root, [{**ENTRY, "command": f"c++ -DN={n} -DM -c a"} for n in range(10)])
    assert found.notes == (
        f"4 of the commands in {found.path}: left out, as one is one too many that differs from all others",
    )


def test_nothing_named_runs_and_nothing_is_written(root: Path, tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    evil = tmp_path / "evil.sh"
    evil.write_text(f"#!/bin/sh\ntouch {marker}\n")
    evil.chmod(0o755)
    before = sorted(str(path) for path in root.rglob("*"))
    entry = {
        "directory": ".",
        "arguments": [str(evil), "-MF", "deps.d", "-MD", "-o", "a.o"],
        "file": "../src/a.cpp",
    }
    found = units(root, [entry])
    assert not marker.exists()
    assert sorted(str(path) for path in root.rglob("*")) == sorted(
        [*before, str(root / "build/compile_commands.json")]
    )
    assert "deps.d" not in " ".join(found["src/a.cpp", ""].arguments)
