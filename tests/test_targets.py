"""What build files say, read as text: setup.py, CMake, pyproject.toml, modules loaded at run time."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import TREES
from tests.facts_view import view_of_sources
from torchtalkd import keys
from torchtalkd.conventions import load
from torchtalkd.facts import Definition
from torchtalkd.link import targets
from torchtalkd.parse import parse, targets_python
from torchtalkd.queries.trace import trace

CONVENTIONS = load("torch-extension")


def found(path: str, text: str) -> dict[str, tuple[list[str], dict[str, str]]]:
    """Module → its sources and macros."""
    made = [d for d in parse(path, text.encode(), CONVENTIONS).definitions if d.key == keys.target(d.name)]
    return {d.name: (_detail(d).get("sources", []), _detail(d).get("defines", {})) for d in made}


def _detail(definition: Definition) -> dict[str, Any]:
    return definition.detail or {}


@pytest.mark.parametrize(
    ("text", "sources"),
    [
        ('CUDAExtension("a._C", ["x.cpp", "y.cu"])', ["x.cpp", "y.cu"]),
        ('CppExtension(sources=["x.cpp"] + ["y.cpp"], name="a._C")', ["x.cpp", "y.cpp"]),
        ('S = ["x.cpp"]\nS += ["y.cpp"]\nS.append("z.cpp")\nExtension("a._C", S)',
         ["x.cpp", "y.cpp", "z.cpp"]),
        ('from pathlib import Path\nR = Path(__file__).parent\n'
         'Extension("a._C", sorted(str(p) for p in (R / "csrc").glob("*.cpp")))', ["csrc/*.cpp"]),
        ('import glob\nExtension("a._C", glob.glob("csrc/**/*.cu", recursive=True))', ["csrc/**/*.cu"]),
        ('import os\nthis = os.path.dirname(os.path.abspath(__file__))\n'
         'Extension("a._C", [os.path.join(this, "csrc", f) for f in ["x.cpp", "y.cpp"]])',
         ["csrc/x.cpp", "csrc/y.cpp"]),
        ('def get(extra=None):\n  s = ["x.cpp"]\n  if extra:\n    s.extend(["y.cpp"])\n  return s\n'
         'Extension("a._C", get())', ["x.cpp", "y.cpp"]),
        ('E = CUDAExtension if CUDA else CppExtension\nExtension("a._C", ["x.cpp"] if CUDA else ["y.cpp"])',
         ["x.cpp", "y.cpp"]),
        ('NAME = "a"\nExtension(f"{NAME}._C", [f"csrc/{NAME}/x.cpp"])', ["csrc/a/x.cpp"]),
        ('NAME = "a"\nfor kind in ("x", "y"):\n  Extension(NAME + "._C", ["csrc/" + kind + ".cpp"])',
         ["csrc/x.cpp", "csrc/y.cpp"]),
        ('Extension("a._C", [unknown(), "csrc/" + unknown() + ".cpp"])', ["csrc/*.cpp"]),
        ('Extension("a._C", get_sources())', []),
        ('def get():\n  return get()\nExtension("a._C", get())', []),
    ],
)  # fmt: skip
def test_sources_are_put_together_from_pieces(text: str, sources: list[str]) -> None:
    assert found("setup.py", text)["a._C"][0] == sources


@pytest.mark.parametrize(
    "text",
    ['"""Extension of what there is."""', "# An Extension may come later.\nx = 1", "'see load_library'"],
)
def test_a_word_in_prose_costs_no_second_look(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[object] = []
    monkeypatch.setattr(targets_python, "scope_of_module", looked.append)
    assert found("a.py", text + "\n") == {}
    assert not looked


@pytest.mark.parametrize(
    "text",
    [
        'make = Extension\nmake("a._C", ["x.cpp"])',
        'if OLD:\n  make = Extension\nelse:\n  make = CppExtension\nmake("a._C", ["x.cpp"])',
    ],
)
def test_an_extension_class_may_have_another_name(text: str) -> None:
    assert found("setup.py", text)["a._C"][0] == ["x.cpp"]


def test_what_doubles_itself_ends() -> None:
    lines = ["x0 = ['a.cpp', 'b.cpp']", *(f"x{n} = x{n - 1} + x{n - 1}" for n in range(1, 50))]
    assert list(found("setup.py", "\n".join([*lines, "Extension('a._C', x49)"]))) == ["a._C"]
    text = "s = '*'\n" + "".join(
        f"t{n} = [f'{{a}}{{b}}' for a in s for b in t{n - 1}]\n" for n in range(1, 30)
    )
    assert list(found("setup.py", text + "Extension('a._C', t29)")) == ["a._C"]
    sets = "\n".join(f"set(v{n} ${{v{n - 1}}}x ${{v{n - 1}}}y)" for n in range(1, 40))
    assert list(found("CMakeLists.txt", f"set(v0 a b)\n{sets}\nadd_library(t ${{v39}}.cpp)")) == ["t"]


def test_a_long_sum_of_lists_is_followed() -> None:
    text = " + ".join(f"['f{n}.cpp']" for n in range(50))
    assert len(found("setup.py", f"Extension('a._C', {text})")["a._C"][0]) == 50


def test_names_that_are_known_in_part_are_patterns() -> None:
    text = (
        "for n in names():\n  for s in ('cpu', 'cuda'):\n    CppExtension(f'p._{n}_{s}', [f'csrc/{n}.cpp'])"
    )
    assert list(found("setup.py", text)) == ["p._*_cpu", "p._*_cuda"]


def test_macros_of_a_target() -> None:
    text = (
        'flags = {"cxx": ["-O3", "-DFAST=1"], "nvcc": ["-DONLY_GPU"]}\n'
        'macros = [("WITH_PYTHON", None)]\nif x:\n  macros += [("LEVEL", "2")]\n'
        'CUDAExtension("a._C", ["x.cpp"], define_macros=macros, extra_compile_args=flags)'
    )
    assert found("setup.py", text)["a._C"][1] == {
        "WITH_PYTHON": "", "LEVEL": "2", "FAST": "1", "ONLY_GPU": "",
    }  # fmt: skip


def test_a_call_of_another_thing_is_no_target() -> None:
    text = 'import torch.utils.cpp_extension\nload("model.pt")\njson.load(f)\nload(name="x")\nExtension()\n'
    assert found("a.py", text) == {}


@pytest.mark.parametrize(
    "text", ["", "(", "Extension(", 'Extension("a._C", ', "\0Extension(", "def f(:\n Extension('a', [])"]
)
def test_no_text_stops_the_reading(text: str) -> None:
    for path in ("setup.py", "CMakeLists.txt", "x.cmake", "pyproject.toml"):
        assert parse(path, text.encode(), CONVENTIONS).path == path


@pytest.mark.parametrize(
    ("text", "module", "sources"),
    [
        ("add_library(t SHARED a.cpp b.cu)", "t", ["a.cpp", "b.cu"]),
        ("pybind11_add_module(t MODULE\n  a.cpp # not c.cpp\n  \"b.cpp\")", "t", ["a.cpp", "b.cpp"]),
        ("set(S a.cpp)\nlist(APPEND S b.cpp;c.cpp)\nAdd_Library(t ${S})", "t", ["a.cpp", "b.cpp", "c.cpp"]),
        ("set(S a.cpp)\nset(S b.cpp)\nadd_library(t ${S})", "t", ["b.cpp"]),
        ("set(S a.cpp)\nif(X)\nset(S b.cpp)\nendif()\nadd_library(t ${S})", "t", ["a.cpp", "b.cpp"]),
        ("file(GLOB S csrc/*.cpp)\nadd_library(t ${S})", "t", ["csrc/*.cpp"]),
        ("file(GLOB_RECURSE S csrc/*.cu)\nadd_library(t ${S})", "t", ["csrc/**/*.cu"]),
        ("foreach(D a b)\nfile(GLOB S ${S} ${D}/*.cpp)\nendforeach()\nadd_library(t ${S})", "t",
         ["a/*.cpp", "b/*.cpp"]),
        ("project(p)\nadd_library(${PROJECT_NAME} ${PROJECT_SOURCE_DIR}/a.cpp)", "p", ["a.cpp"]),
        ("my_target(_C DESTINATION pkg/sub SOURCES a.cpp b.cpp LIBRARIES z)", "pkg.sub._C",
         ["a.cpp", "b.cpp"]),
        ("add_library(t ${UNKNOWN} ${UNKNOWN_DIR}/a.cpp)", "t", ["*/a.cpp"]),
        ("add_library(t)\ntarget_sources(t PRIVATE a.cpp)", "t", ["a.cpp"]),
        ("add_library(t a.cpp)\nset_target_properties(t PROPERTIES OUTPUT_NAME _C)", "_C", ["a.cpp"]),
        ("#[[\nadd_library(no no.cpp)\n]]\nadd_library(t [=[a.cpp]=])", "t", ["a.cpp"]),
    ],
)  # fmt: skip
def test_cmake(text: str, module: str, sources: list[str]) -> None:
    assert {name: said[0] for name, said in found("CMakeLists.txt", text).items()} == {module: sources}


def test_a_functions_body_in_cmake_is_no_target() -> None:
    text = "function(make NAME)\n  add_library(${NAME} ${ARG_SOURCES})\nendfunction()\nadd_library(t a.cpp)"
    assert list(found("x.cmake", text)) == ["t"]


def test_pyproject_may_list_modules() -> None:
    text = """
[tool.setuptools]
ext-modules = [{ name = "pkg._C", sources = ["csrc/a.cpp"], define-macros = [["A", "1"]] }]
"""
    assert found("pyproject.toml", text) == {"pkg._C": (["csrc/a.cpp"], {"A": "1"})}


def test_a_copied_source_and_a_build_file_further_down_are_known() -> None:
    """hipify and copies change suffixes; builders are run from the root."""
    view = view_of_sources(
        {
            "tools/build.py": 'CUDAExtension("p._C", ["csrc/a.hip", "../csrc/b.cu"])',
            "csrc/a.cu": "void f() {}",
            "csrc/b.cu": "void g() {}",
            "csrc/c.cu": "void h() {}",
        }
    )
    named = {
        file.path: targets.names(view, file, "{TORCH_EXTENSION_NAME}::x")
        for file in {d.file for name in "fgh" for d in view.definitions(keys.cpp(name))}
    }
    assert named == {"csrc/a.cu": ("_C::x",), "csrc/b.cu": ("_C::x",), "csrc/c.cu": ()}


def test_the_only_target_without_sources_takes_what_no_other_has() -> None:
    view = view_of_sources(
        {"setup.py": 'CMakeExtension("p._C")', "csrc/a.cpp": "void f() {}", "other/b.cpp": "void g() {}"}
    )
    (definition,) = view.definitions(keys.cpp("f"))
    assert targets.names(view, definition.file, "{TORCH_EXTENSION_NAME}") == ("_C",)
    assert [d.fact.name for d in targets.filled(view, definition)] == ["f"]


@pytest.mark.parametrize(
    "defining",
    [
        'add_definitions("-DTORCH_EXTENSION_NAME=libpack")',
        "add_compile_definitions(TORCH_EXTENSION_NAME=libpack)",
    ],
)
def test_a_definition_for_the_whole_folder_names_the_module(defining: str) -> None:
    early = "add_library(early SHARED a.cpp)"
    late = "add_library(pack SHARED b.cpp)\nadd_library(none SHARED)"
    text = f"{early}\n{defining}\n{late}\n"
    made = found("csrc/CMakeLists.txt", text)
    assert {name: defines for name, (_, defines) in made.items()} == {
        "early": {"TORCH_EXTENSION_NAME": "libpack"},
        "pack": {"TORCH_EXTENSION_NAME": "libpack"},
    }


def test_a_module_that_leaves_its_sources_to_cmake_is_that_of_the_same_name() -> None:
    view = view_of_sources(
        {
            "setup.py": 'Extension("pack.libpack", [])\nExtension("pack.other", [])\n',
            "csrc/CMakeLists.txt": "add_definitions(-DTORCH_EXTENSION_NAME=libpack)\n"
            "add_library(pack SHARED pack.cpp)\n",
            "csrc/pack.cpp": "void fold() {}\n"
            'PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("fold", &fold); }\n',
        },
        "torch-extension",
    )
    for name in ("pack.libpack.fold", "libpack.fold"):
        items = trace(view, name).items
        assert ("csrc/pack.cpp", 1) in {(item.file, item.line) for item in items}, name
    assert not trace(view, "pack.other.fold").found


def test_the_small_extension_of_the_tests() -> None:
    text = (TREES / "extension" / "setup.py").read_text()
    assert found("setup.py", text)["waves._C"][0][0] == "csrc/ops.cpp"
