"""Commands that the manifest makes, and the headers that a build would fill in."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from torchtalkd.compilation import commands, made_folder
from torchtalkd.compilation.configured import configure, filled_in
from torchtalkd.compilation.machine import Machine, machine
from torchtalkd.compilation.made import made_units, unit_paths
from torchtalkd.conventions import Conventions, ManifestError, load
from torchtalkd.conventions.compiling import Compilation, ConfiguredHeader, Package, UnitRule, Variant
from torchtalkd.conventions.values import Conventions as Values

FILES = (
    "src/a.cpp",
    "src/b.cc",
    "src/c.c",
    "src/a.h",
    "src/k.cu",
    "src/m.mm",
    "src/simd/X.cpp",
    "src/gen.cpp",
    "src/bench/x.cpp",
    "test/t.cpp",
    "build/old.cpp",
    "other/o.cpp",
)
RECIPE = Compilation(
    paths=("src",),
    without=("src/bench",),
    includes=("", "inc"),
    defines=("ALL",),
    units=(
        UnitRule(
            "simd",
            ("src/simd/*.cpp",),
            ("simd_inc",),
            ("SIMD",),
            variants=(
                Variant("DEFAULT", ("CAP=DEFAULT",)),
                Variant("AVX2", ("CAP=AVX2",), ("-mavx2", "-fplugin=evil.so"), ("x86_64",)),
            ),
        ),
        UnitRule("all", ("src",), defines=("RULE",)),
    ),
    packages=(
        Package("fmt", "fmt/format.h", ("third/fmt",), defines=("HAS_FMT",), stand_ins=("FMT(...)=",)),
        Package("gone", "gone.h", defines=("HAS_GONE",), stand_ins=("GONE(...)=",)),
        Package("some", "fmt/format.h", ("third/fmt",), defines=("SOME",), paths=("src/b.cc",)),
    ),
    configured=(ConfiguredHeader("inc/config.h", "config.h.in", {"MAJOR": "{major}"}),),
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    top = (tmp_path / "root").resolve()
    for path in (*FILES, "third/fmt/fmt/format.h"):
        (top / path).parent.mkdir(parents=True, exist_ok=True)
        (top / path).write_text("")
    (top / "config.h.in").write_text("#define V @MAJOR@\n")
    return top


def conventions() -> Conventions:
    return replace(load("torch-extension"), compilation=RECIPE)


def with_everything(root: Path, told: Values) -> Machine:
    found = machine(root, told, {})
    return found._replace(cuda=found.cuda._replace(where="/cuda", folders=("/cuda/include",)))


def test_which_files_are_units(root: Path) -> None:
    assert sorted(unit_paths(root, conventions())) == [
        *("src/a.cpp", "src/b.cc", "src/c.c", "src/gen.cpp", "src/k.cu", "src/m.mm", "src/simd/X.cpp"),
    ]
    (root / "src/linked.cpp").symlink_to(root / "src/a.cpp")
    os.mkfifo(root / "src/pipe.cpp")
    assert not {"src/linked.cpp", "src/pipe.cpp"} & set(unit_paths(root, conventions()))


def test_what_a_unit_is_told(root: Path) -> None:
    told, made = conventions(), root.parent / "made"
    (unit,) = made_units(root, told, made, ["src/a.cpp"], with_everything(root, told))
    assert (unit.path, unit.variant, unit.kind, unit.source) == ("src/a.cpp", "", "cpp", "made")
    text = " ".join(unit.arguments)
    assert text.startswith("-x c++ -w -ferror-limit=0 -resource-dir ")
    folders = f"-I{made} -I{root} -I{made}/inc -I{root}/inc -isystem {root}/third/fmt"
    # Of what is nowhere its stand-ins are defined, and of what is there they are not.
    assert f"-std=c++17 -DALL -DRULE -DHAS_FMT -DGONE(...)= {folders}" in text
    assert "HAS_GONE" not in text
    assert "/cuda" not in text
    kinds = {
        one.path: one
        for one in made_units(
            root, told, made, ["src/c.c", "src/k.cu", "src/m.mm"], with_everything(root, told)
        )
    }
    assert "-std=gnu11" in kinds["src/c.c"].arguments
    assert kinds["src/k.cu"].arguments[:2] == ("-x", "cuda")
    assert kinds["src/k.cu"].arguments[-2:] == ("-isystem", "/cuda/include")
    assert kinds["src/m.mm"].arguments[:2] == ("-x", "objective-c++")


def test_a_file_that_is_compiled_in_several_ways_is_a_unit_for_each(root: Path) -> None:
    told, made = conventions(), root.parent / "made"

    def variants(processor: str) -> dict[str, tuple[str, ...]]:
        units = made_units(root, told, made, ["src/simd/X.cpp"], with_everything(root, told), processor)
        return {unit.variant: unit.arguments for unit in units}

    found = variants("x86_64")
    assert list(found) == ["DEFAULT", "AVX2"]
    assert {"-DSIMD", "-DCAP=AVX2", "-mavx2", "-DRULE"} <= set(found["AVX2"])
    assert "-fplugin=evil.so" not in found["AVX2"]
    assert "-mavx2" not in found["DEFAULT"]
    # A unit's own folders come first.
    folders = [one for one in found["DEFAULT"] if one.startswith("-I")]
    assert folders[:2] == [f"-I{made}/simd_inc", f"-I{root}/simd_inc"]
    assert list(variants("arm64")) == ["DEFAULT"]


def test_units_of_the_same_arguments_have_the_same_hint(root: Path) -> None:
    told = conventions()
    paths = list(unit_paths(root, told))
    units = made_units(root, told, root.parent / "made", paths, with_everything(root, told), "x86_64")
    by_hint: dict[str, set[tuple[str, ...]]] = {}
    for unit in units:
        by_hint.setdefault(unit.group_hint, set()).add(unit.arguments)
    assert all(len(arguments) == 1 for arguments in by_hint.values())
    assert len({next(iter(one)) for one in by_hint.values()}) == len(by_hint)


def test_commands_of_a_whole_tree(root: Path) -> None:
    made = made_folder(root.parent / "cache")
    before = sorted(str(path) for path in root.rglob("*"))
    told = commands(root, conventions(), made)
    assert {unit.path for unit in told.units} >= {"src/a.cpp", "src/simd/X.cpp"}
    assert (told.database, told.notes) == ("", ())
    assert [(one.name, one.where) for one in told.packages] == [
        ("fmt", "tree"),
        ("gone", ""),
        ("some", "tree"),
    ]
    # What cannot be read on this machine is no unit, and is counted.
    if sys.platform != "darwin":
        assert told.left_out["objcpp"] == 1
        assert "src/m.mm" not in {unit.path for unit in told.units}
    # Headers are filled in beside the index, and the tree is as it was.
    version = conventions().rules.version or "0"
    assert (made / "inc/config.h").read_text() == f"#define V {version.partition('.')[0]}\n"
    assert sorted(str(path) for path in root.rglob("*")) == before
    assert commands(root, conventions(), made, paths=["src/b.cc"]).units[0].path == "src/b.cc"


def test_the_headers_of_a_base_go_before_an_installed_one(root: Path) -> None:
    told = commands(root, conventions(), root.parent / "made", paths=["src/b.cc"], bases=["/base/include"])
    arguments = told.units[0].arguments
    assert arguments.index("/base/include") < arguments.index(f"{root}/third/fmt")
    assert "/base/include" in told.folders


# -- configured headers


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("#cmakedefine ON_ONE", "#define ON_ONE"),
        ("#cmakedefine UNKNOWN", "/* #undef UNKNOWN */"),
        ("#cmakedefine OFF_ONE", "/* #undef OFF_ONE */"),
        ("  #  cmakedefine ON_ONE @ON_ONE@ // x", "  #  define ON_ONE 1 // x"),
        ("#cmakedefine01 ON_ONE", "#define ON_ONE 1"),
        ("#cmakedefine01 UNKNOWN", "#define UNKNOWN 0"),
        ("#define A() @UNKNOWN@", "#define A() 0"),
        ("#define A() @ON_ONE@@TEXT@", "#define A() 1some text"),
        ('{"X", "${TEXT}", "${UNKNOWN}"}', '{"X", "some text", "0"}'),
        ("a@b.c and $x and @ alone @", "a@b.c and $x and @ alone @"),
        ("#define cmakedefine ON_ONE", "#define cmakedefine ON_ONE"),
    ],
)
def test_a_template_is_filled_in_as_cmake_does(template: str, text: str) -> None:
    values = {"ON_ONE": "1", "OFF_ONE": "OFF", "TEXT": "some text"}
    assert filled_in(template, values, "0") == text
    assert filled_in(f"x\n{template}\ny\n", values, "0") == f"x\n{text}\ny\n"


def test_a_header_that_is_as_it_should_be_is_not_touched(root: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    header = ConfiguredHeader("a/v.h", "v.h.in", {"V": "{version}", "N": "{minor}.{patch}"}, "none")
    (root / "v.h.in").write_text("@V@ @N@ @X@")
    assert configure(root, [header, replace(header, template="absent")], "2.6.0a0+git1", out) == ["a/v.h"]
    assert (out / "a/v.h").read_text() == "2.6.0a0+git1 6.0 none"
    first = (out / "a/v.h").stat()
    configure(root, [header], "2.6.0a0+git1", out)
    assert (out / "a/v.h").stat().st_mtime_ns == first.st_mtime_ns
    configure(root, [header], "2.7", out)
    assert (out / "a/v.h").read_text() == "2.7 7.0 none"
    assert [path.name for path in (out / "a").iterdir()] == ["v.h"]


# -- a manifest of a tree's own


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('[[compilation.generators]]\nid = "x"\nmodule = "os"', "names no program to run"),
        (
            '[[release]]\nversions = ">1"\n[[release.compilation.generators]]\nid = "x"\nmodule = "os"',
            "names no program to run",
        ),
        ("[compilation]\ngenerators = []", "names no program to run"),
        ('[[compilation.configured]]\nname = "../../x.h"\ntemplate = "a"', "may not leave the root"),
        ('[[compilation.configured]]\nname = "/x.h"\ntemplate = "a"', "not absolute"),
        ('[[compilation.configured]]\nname = "x.h"\ntemplate = "../secret"', "may not leave the root"),
        ('[[compilation.configured]]\nname = ""\ntemplate = "a"', "a path is wanted here"),
        ('[compilation]\nincludes = ["../other"]', "may not leave the root"),
        ('[compilation]\nincludes = ["/usr"]', "not absolute"),
        ('[compilation]\ndefines = ["-load"]', "bad define"),
        ('[compilation]\nstandard = "c++17 -load"', "bad standard"),
        ('[[compilation.units]]\nid = "a"\npaths = ["../x"]', "may not leave the root"),
        (
            '[[compilation.units]]\nid = "a"\npaths = ["x"]\nvariants = [{ name = "a", defines = ["1"] }]',
            "bad define",
        ),
        ('[[compilation.packages]]\nname = "a"\nheader = "../x.h"', "may not leave the root"),
        (
            '[[compilation.packages]]\nname = "a"\nheader = "x.h"\nbeside = ["../../.."]',
            "may not leave the root",
        ),
        ('[compilation]\ncommand = "make"', "unknown field 'command'"),
    ],
)
def test_a_trees_own_manifest_names_no_program_and_no_path_outside(
    tmp_path: Path, text: str, why: str
) -> None:
    (tmp_path / ".torchtalk.toml").write_text(f'format = 1\nextends = "torch-extension"\n{text}\n')
    with pytest.raises(ManifestError, match=why):
        load("", tree=tmp_path)


def test_a_tree_may_say_how_it_is_compiled(tmp_path: Path) -> None:
    (tmp_path / ".torchtalk.toml").write_text(
        'format = 1\nextends = "pytorch"\n[compilation]\ndefines = ["MINE(x)=x"]\nincludes = ["mine"]\n'
    )
    told = load("", tree=tmp_path)
    assert "MINE(x)=x" in told.compilation.defines
    assert "AT_PER_OPERATOR_HEADERS" in told.compilation.defines
    # What runs is still what the packaged manifest says, and how a file is compiled changes no fact.
    assert told.compilation.generators[0].module == "torchgen.gen"
    (tmp_path / ".torchtalk.toml").write_text('format = 1\nextends = "pytorch"\n')
    assert told.fingerprint == load("", tree=tmp_path).fingerprint
