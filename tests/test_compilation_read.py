"""The commands that are made, given to libclang itself: small units that need all that is found."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from clang import cindex

from torchtalkd.compilation import Commands, commands
from torchtalkd.compilation.machine import machine
from torchtalkd.conventions import load
from torchtalkd.conventions.compiling import Compilation, ConfiguredHeader, UnitRule, Variant

_KEEP_GOING = 0x200
FILES = {
    "src/a.cpp": (
        "#include <vector>\n#include <stddef.h>\n#include <cmath>\n#include <own/config.h>\n"
        "std::vector<size_t> f() { return {HAS_X(), VERSION}; }\n"
    ),
    "src/simd.cpp": (
        "#if defined(__x86_64__)\n#include <immintrin.h>\n#ifdef __AVX2__\n"
        "__m256i g(__m256i a) { return _mm256_add_epi32(a, a); }\n#endif\n#endif\n"
    ),
    "src/k.cu": (
        "#include <tuple>\n#include <cuda_runtime.h>\n"
        "struct F { __device__ int operator()(int a) const { return a; } };\n"
        "template <class T> __global__ void kernel(T f, int* out)\n"
        "{ out[threadIdx.x] = std::apply(f, std::make_tuple(1)); }\n"
        "void launch(int* out) { kernel<<<1, 32>>>(F(), out); }\n"
    ),
    "own/config.h.in": "#define HAS_X() @HAS_X@\n#define VERSION @V@\n",
}


@pytest.fixture
def told(tmp_path: Path) -> tuple[Path, Commands]:
    root = (tmp_path / "root").resolve()
    for path, text in FILES.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    recipe = Compilation(
        paths=("src",),
        units=(
            UnitRule(
                "simd",
                ("src/simd.cpp",),
                variants=(Variant("plain"), Variant("AVX2", flags=("-mavx2",), machines=("x86_64",))),
            ),
        ),
        configured=(ConfiguredHeader("own/config.h", "own/config.h.in", {"V": "7"}),),
    )
    conventions = replace(load("torch-extension"), compilation=recipe)
    found = machine(root, conventions)
    if found.off:
        pytest.skip(found.off)
    return root, commands(root, conventions, tmp_path / "cache" / "made", found=found)


def errors(root: Path, path: str, arguments: tuple[str, ...]) -> list[str]:
    unit = cindex.Index.create().parse(str(root / path), args=list(arguments), options=_KEEP_GOING)
    return [str(one) for one in unit.diagnostics if one.severity >= cindex.Diagnostic.Error]


def test_units_are_read_without_an_error(told: tuple[Path, Commands]) -> None:
    root, all_told = told
    read = [unit for unit in all_told.units if unit.kind == "cpp"]
    assert {unit.path for unit in read} == {"src/a.cpp", "src/simd.cpp"}
    for unit in read:
        assert errors(root, unit.path, unit.arguments) == [], unit


def test_a_kernel_and_its_launch_are_read_for_the_hosts_side(told: tuple[Path, Commands]) -> None:
    root, all_told = told
    kernels = [unit for unit in all_told.units if unit.kind == "cuda"]
    if not kernels:
        pytest.skip("this machine has no headers of CUDA")
    # Of a toolkit that is newer than libclang some of its own headers are not there.
    found = errors(root, kernels[0].path, kernels[0].arguments)
    assert [error for error in found if "file not found" not in error] == []


def test_reading_with_a_strangers_flags_writes_nothing(tmp_path: Path) -> None:
    root = (tmp_path / "root").resolve()
    (root / "src").mkdir(parents=True)
    (root / "src/a.cpp").write_text("int f();\n")
    (root / "compile_commands.json").write_text(
        '[{"directory": ".", "file": "src/a.cpp", "arguments": ["c++", "-MD", "-MF", "deps.d", "-o", "a.o",'
        ' "-MJ", "a.json", "-save-temps", "--serialize-diagnostics", "a.dia", "-ftime-trace=t.json"]}]'
    )
    conventions = replace(load("torch-extension"), compilation=Compilation(paths=("src",)))
    all_told = commands(root, conventions, tmp_path / "cache" / "made")
    before = sorted(str(path) for path in tmp_path.rglob("*"))
    here = os.getcwd()
    os.chdir(root)
    try:
        assert [errors(root, unit.path, unit.arguments) for unit in all_told.units] == [[]]
    finally:
        os.chdir(here)
    assert sorted(str(path) for path in tmp_path.rglob("*")) == before
