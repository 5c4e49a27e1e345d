"""What of a compiler's flags reaches libclang: what says how a text is read, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchtalkd.compilation.flags import MOST_FLAGS, allowed, translated


def arguments(tmp_path: Path, *flags: str) -> tuple[str, ...]:
    return translated(flags, str(tmp_path), (tmp_path,)).arguments


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (["-Iinc"], ["-I{root}/inc"]),
        (["-I", "inc"], ["-I{root}/inc"]),
        (["-I", "../x/./y"], ["-I{above}/x/y"]),
        (["-isystem", "/opt/x"], ["-isystem", "/opt/x"]),
        (["-isystem/opt/x"], ["-isystem", "/opt/x"]),
        (["-isystem=/opt/x"], ["-isystem", "/opt/x"]),
        (["-iquote", "q"], ["-iquote", "{root}/q"]),
        (["-iquoteq"], ["-iquote", "{root}/q"]),
        (["--include-path=/opt/x"], ["-I/opt/x"]),
        (["--system-include", "/opt/x"], ["-isystem", "/opt/x"]),
        (["-DA", "-D", "B=1", '-DC="x y"', "-UD", "-U", "E"], ["-DA", "-DB=1", '-DC="x y"', "-UD", "-UE"]),
        (["--define-macro", "A=2", "--undefine-macro=B"], ["-DA=2", "-UB"]),
        (["-std=gnu++20", "--std=c++17", "-std", "c++14"], ["-std=gnu++20", "-std=c++17", "-std=c++14"]),
        (
            ["-fno-exceptions", "-fopenmp", "-fPIC", "-ftemplate-depth-900"],
            ["-fno-exceptions", "-fopenmp", "-fPIC", "-ftemplate-depth=900"],
        ),
        (
            ["-mavx2", "-mfma", "-march=native", "-mno-avx512f"],
            ["-mavx2", "-mfma", "-march=native", "-mno-avx512f"],
        ),
        (["-pthread"], ["-pthread"]),
        # nvcc's list for the compiler of the host.
        (
            ["-Xcompiler", "-fopenmp,-DHOST", "-Xcompiler=-fPIC", "--compiler-options=-mavx2"],
            ["-fopenmp", "-DHOST", "-fPIC", "-mavx2"],
        ),
        (["--expt-relaxed-constexpr", "-gencode", "arch=compute_80,code=sm_80", "-DX"], ["-DX"]),
        # Before the C++ library's folders these would break its #include_next.
        (["-isystem", "/usr/include", "-I/usr/include", "-I/usr/local/include/"], []),
    ],
)
def test_flags_that_change_what_a_text_means(tmp_path: Path, flags: list[str], expected: list[str]) -> None:
    wanted = [one.format(root=tmp_path, above=tmp_path.parent) for one in expected]
    assert list(arguments(tmp_path, *flags)) == wanted


@pytest.mark.parametrize(
    "flags",
    [
        # What libclang would write.
        ["-MF", "deps", "-MD", "-MMD", "-MJ", "x.json", "-MT", "t", "-MP"],
        ["-o", "-DX", "-oout", "-save-temps", "--serialize-diagnostics", "-DX"],
        ["-ftime-trace", "-ftime-trace=x", "-fcrash-diagnostics-dir=/x", "-gsplit-dwarf", "-fdump-tree-all"],
        ["-fmodules", "-fmodules-cache-path=/x", "-fprofile-generate=/x", "-fcoverage-mapping", "--coverage"],
        # What it would load.
        ["-fplugin=evil.so", "-fplugin", "evil.so", "-fpass-plugin=evil.so", "-load", "evil.so"],
        ["-Xclang", "-load", "-Xclang", "evil.so", "-Xclang", "-DX", "-mllvm", "-DX"],
        ["--config", "evil.cfg", "--config=evil.cfg", "-ivfsoverlay", "evil.yaml", "-B", "/evil"],
        ["-include-pch", "evil.pch", "-fmodule-file=evil.pcm", "-fprebuilt-module-path=/x", "-specs=evil"],
        ["-wrapper", "evil", "-fuse-ld=/evil", "-ccbin", "-DX", "--compiler-bindir=/evil"],
        # Other machines and other systems than the headers that were found.
        ["-target", "arm-none-eabi", "--target=arm", "-isysroot", "/x", "--sysroot=/x", "-nostdinc"],
        # Values that are none.
        ["-D", "", "-D=x", "-D1", "-D-x", "-U", ""],
        ["-std=", "-std=c++17 -load", "-std=evil", "-march=", "-march=a/b", "-ftemplate-depth=99999999"],
        ["-I", ""],
        ["-DA\0B", "-DA\nB", "-D\udcff", "-D" + "x" * 5000],
        ["plain", "x.cpp", "-", "--", "-c", "-O3", "-Wall", "-g", "-imacros", "-DX"],
    ],
)
def test_flags_that_do_anything_else_are_left_out(tmp_path: Path, flags: list[str]) -> None:
    assert arguments(tmp_path, *flags) == ()


def test_a_response_file_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "more").write_text("-DEVIL")
    done = translated(["@more", "@" + str(tmp_path / "more"), "-DA"], str(tmp_path), (tmp_path,))
    assert done.arguments == ("-DA",)
    assert done.refused == ("has a response file, which is not read",)


@pytest.mark.parametrize(
    "spelled", [["-include", "{}"], ["-include{}"], ["--pre-include={}"], ["-include={}"]]
)
def test_a_file_that_is_taken_in_first_must_be_the_trees(tmp_path: Path, spelled: list[str]) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "first.h").write_text("")
    (tmp_path / "outside.h").write_text("")
    (root / "link.h").symlink_to(tmp_path / "outside.h")

    def told(path: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        done = translated([one.format(path) for one in spelled], str(root), (root,))
        return done.arguments, done.refused

    assert told("first.h") == (("-include", str(root / "first.h")), ())
    for path in ("../outside.h", "link.h", "/dev/zero", "absent.h", "."):
        assert told(path) == ((), ("takes in a file first that is not one of the tree's",))


def test_a_folder_must_be_one(tmp_path: Path) -> None:
    import os

    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "zero").symlink_to("/dev/zero")
    (tmp_path / "file").write_text("")
    flags = ["-Ipipe", "-Izero", "-Ifile", "-isystem", "/dev/null", "-Iabsent"]
    done = translated(flags, str(tmp_path), (tmp_path,))
    assert done.arguments == (f"-I{tmp_path}/absent",)
    assert done.refused == ("looks for headers in what is no folder",)


@pytest.mark.parametrize(
    ("flags", "kind"),
    [
        (["-x", "cu"], "cuda"),
        (["-xc++"], "cpp"),
        (["-x", "cuda"], "cuda"),
        (["-x", "none"], None),
        (["-x"], None),
    ],
)
def test_the_language_that_a_call_names(tmp_path: Path, flags: list[str], kind: str | None) -> None:
    assert translated(flags, str(tmp_path), (tmp_path,)).kind == kind


def test_a_call_of_a_million_flags_is_cut(tmp_path: Path) -> None:
    done = translated(["-DX"] * 1_000_000, str(tmp_path), (tmp_path,))
    assert len(done.arguments) == MOST_FLAGS
    assert done.refused == (f"has more than {MOST_FLAGS:,} flags",)


def test_a_manifests_flags_pass_the_same_list(tmp_path: Path) -> None:
    assert allowed(["-mavx2", "-fplugin=evil.so", "-o", "x", "-Iinc"], tmp_path) == (
        "-mavx2",
        f"-I{tmp_path}/inc",
    )
