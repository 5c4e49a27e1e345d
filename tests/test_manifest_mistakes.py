"""A wrong manifest is refused with its file, its line and what is allowed; the documentation's are right."""

from __future__ import annotations

import dataclasses
import importlib
import re
import typing
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY
from torchtalkd import facts
from torchtalkd.conventions import ManifestError, load, values


def in_tree(folder: Path, text: str) -> values.Conventions:
    """The conventions of a tree whose own manifest is `text`."""
    (folder / ".torchtalk.toml").write_text(text)
    return load("", tree=folder)


def refused(folder: Path, text: str) -> ManifestError:
    """The error that the manifest `text` is refused with."""
    with pytest.raises(ManifestError) as caught:
        in_tree(folder, text)
    assert caught.value.path.endswith(".torchtalk.toml")
    assert str(caught.value).startswith(f"{caught.value.path}:{caught.value.line}: ")
    return caught.value


# -- mistakes

MISTAKES = {
    # what is wrong: (text, line, words that the message has)
    "no format": ("[files]\nignore = []\n", 1, ["'format' is missing"]),
    "a newer format": ("# x\nformat = 2\nnovelty = 3\n", 2, ["newer", "(1)"]),
    "format as text": ('format = "1"\n', 1, ["whole number"]),
    "bad TOML": ("format = 1\n[files\nignore = []\n", 2, ["not valid TOML"]),
    "TOML that ends early": ("format = 1\n\n[files]\nignore = [\n  'a',\n", 5, ["not valid TOML"]),
    "an unknown table": ("format = 1\n\n[fils]\nignore = []\n", 3, ["'fils'", "did you mean 'files'", "cpp"]),
    "an unknown field": ("format = 1\n[cpp]\n\nblanks = []\n", 4, ["'blanks'", "'blank'", "shapes"]),
    "an unknown field of an item": (
        'format = 1\n[[python.bindings]]\nid = "a"\ncall = "b"\nkind = "docs"\n'
        '[[python.bindings]]\nid = "c"\ncall = "d"\nkind = "docs"\noperant = 1\n',
        10,
        ["'operant'", "python.bindings[1]", "'operand'"],
    ),
    "a field that the loader fills": ('format = 1\n[link]\nharness = "x"\n', 3, ["'harness'", "backends"]),
    "a list for a text": ("format = 1\nname = ['x']\n", 2, ["must be text", "a list"]),
    "a text for a list": ('format = 1\n[files]\nignore = "x"\n', 3, ["files.ignore", "a list of text"]),
    "a number in a list": (
        'format = 1\n[files]\nignore = [\n  "a",\n  3,\n]\n',
        5,
        ["files.ignore[1]", "text"],
    ),
    "a date": ("format = 1\nname = 2020-01-01\n", 2, ["must be text"]),
    "true for a number": ("format = 1\n[files]\nmax_bytes = true\n", 3, ["whole number", "true or false"]),
    "a negative size": ("format = 1\n[files]\nmax_bytes = 0\n", 3, ["1 or more"]),
    "a text for a table": ('format = 1\ncpp = "x"\n', 2, ["cpp must be a table"]),
    "a missing field": (
        'format = 1\n[cpp]\nshapes = [\n  { name = "A" },\n]\n',
        4,
        ["'shape'", "dispatch_key"],
    ),
    "an unknown shape": (
        'format = 1\n[cpp]\nshapes = [\n  { name = "A", shape = "structured" },\n'
        '  { name = "B", shape = "structure" },\n]\n',
        5,
        ["'structure'", "did you mean 'structured'", "torch_library"],
    ),
    "an unknown kind": (
        'format = 1\n[[python.layers]]\nid = "a"\npattern = "a"\nkind = "refs"\n',
        5,
        ["'refs'", "'ref'", "decomposition"],
    ),
    "an unknown operand space": (
        'format = 1\n[[python.bindings]]\nid = "a"\ncall = "b"\nkind = "docs"\noperand_space = "cpp"\n',
        6,
        ["operand space", "op, py, test"],
    ),
    "an unknown language": (
        'format = 1\n[files.languages]\n".cu" = "cuda"\n".rs" = "rust"\n',
        4,
        ["'rust'", "python", "metal"],
    ),
    "a language key": ('format = 1\n[files]\nlanguages = { "cu" = "cuda" }\n', 3, ["'cu'", "suffix"]),
    "an absolute pattern": ('format = 1\n[files]\ntests = ["/etc/**"]\n', 3, ["'/etc/**'", "relative"]),
    "a pattern out of the root": ('format = 1\n[files]\nignore = ["a", "../x"]\n', 3, ["'../x'", "'..'"]),
    "a root out of the root": ('format = 1\n[python]\nroots = ["", "../x"]\n', 3, ["'../x'"]),
    "an absolute root": ('format = 1\n[python]\nroots = ["/usr"]\n', 3, ["'/usr'", "absolute"]),
    "a detect path out of the root": ('format = 1\ndetect = ["a|../../b"]\n', 2, ["'../../b'"]),
    "a version file out of the root": ('format = 1\nversion_files = ["/etc/passwd"]\n', 2, ["/etc/passwd"]),
    "a text file out of the root": (
        'format = 1\n[detect_text]\n"../setup.py" = ["x"]\n',
        3,
        ["'../setup.py'"],
    ),
    "a glob for a path": ('format = 1\n[python]\nroots = ["src/*"]\n', 3, ["plain path"]),
    "a star in a name": ('format = 1\n[files]\ntests = ["a**/b"]\n', 3, ["'**' must be a whole name"]),
    "an open bracket": ('format = 1\n[files]\ntests = ["a[b"]\n', 3, ["'['"]),
    "braces": ('format = 1\n[files]\ntests = ["a.{c,h}"]\n', 3, ["braces"]),
    "an item twice": ('format = 1\n[cpp]\nblank = [\n "A",\n "B",\n "A(...)",\n]\n', 6, ["'A'", "twice"]),
    "an unknown parent": (
        'format = 1\nextends = ["torch-extension", "pytroch"]\n',
        2,
        ["'pytroch'", "pytorch"],
    ),
    "a path for a name": ('format = 1\nname = "../x"\n', 2, ["'../x'", "never a path"]),
    "a path for a parent": ('format = 1\nextends = "./x.toml"\n', 2, ["'./x.toml'", "never a path"]),
    "a path to depend on": (
        'format = 1\ndepends_on = [\n "pytorch",\n "/x",\n]\n',
        4,
        ["'/x'", "never a path"],
    ),
    "an unknown harness to depend on": (
        'format = 1\ndepends_on = [\n "pytorch",\n "vlm",\n]\n',
        4,
        ["unknown harness 'vlm'", "did you mean 'vllm'"],
    ),
    "itself to depend on": (
        'format = 1\nname = "vllm"\ndepends_on = ["vllm"]\n',
        3,
        ["'vllm' cannot depend on itself"],
    ),
    "an unknown kind to expect": (
        "format = 1\n[expected_minimums]\nschema = 1\nkernels = 2\n",
        4,
        ["'kernels'", "did you mean 'kernel'", "registration"],
    ),
    "a minimum of nothing": (
        "format = 1\n[expected_minimums]\nschema = 0\n",
        3,
        ["expected_minimums.schema", "1 or more"],
    ),
    "a minimum as text": (
        'format = 1\n[expected_minimums]\nschema = "1"\n',
        3,
        ["expected_minimums", "whole number"],
    ),
    "a release without versions": ("format = 1\n[[release]]\ncpp = {}\n", 2, ["versions"]),
    "a bad condition": ('format = 1\n[[release]]\nversions = ">=2.5,~3"\n', 3, ["'~3'", ">=2.5,<2.7"]),
    "a bad field of a release": (
        'format = 1\n[[release]]\nversions = "<2"\n[[release]]\nversions = ">2"\n[release.cpp]\nblnk = []\n',
        7,
        ["'blnk'", "'blank'"],
    ),
    "a detect in a release": ('format = 1\n[[release]]\nversions = "<2"\ndetect = []\n', 4, ["'detect'"]),
}


@pytest.mark.parametrize("what", MISTAKES)
def test_a_mistake_is_refused_with_its_line_and_what_is_allowed(what: str, tmp_path: Path) -> None:
    text, line, words = MISTAKES[what]
    error = refused(tmp_path, text)
    assert error.line == line, error
    for word in words:
        assert word in error.message, error


def test_an_unknown_harness_names_the_known_ones() -> None:
    with pytest.raises(
        ManifestError, match=r"'pytroch'.*did you mean 'pytorch'.*torch-extension.*vllm"
    ) as caught:
        load("pytroch")
    assert (caught.value.path, caught.value.line) == ("", 0)


def test_a_harness_that_the_trees_own_manifest_is_not_is_refused(tmp_path: Path) -> None:
    (tmp_path / ".torchtalk.toml").write_text('format = 1\nextends = "torch-extension"\nname = "mine"\n')
    assert load("torch-extension", tree=tmp_path).name == "mine"
    with pytest.raises(ManifestError, match=r":3: .*'mine'.*not 'vllm'"):
        load("vllm", tree=tmp_path)


def test_a_manifest_of_another_encoding_or_depth_or_size_is_refused(tmp_path: Path) -> None:
    path = tmp_path / ".torchtalk.toml"
    path.write_bytes(b"format = 1\n# \xff\n")
    with pytest.raises(ManifestError, match=":2: not UTF-8"):
        load("", tree=tmp_path)
    path.write_text("format = 1\ndetect = " + "[" * 100_000)
    with pytest.raises(ManifestError):
        load("", tree=tmp_path)
    path.write_text("format = 1\n" + "#" * 1_000_000)
    with pytest.raises(ManifestError, match="larger"):
        load("", tree=tmp_path)


def test_manifests_that_extend_each_other_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = {
        "a": ("a.toml", 'format = 1\nextends = "b"\n'),
        "b": ("b.toml", 'format = 1\n\nextends = [\n  "c",\n  "a",\n]\n'),
        "c": ("c.toml", "format = 1\n"),
    }
    # The package gives its function the name of the module, so the module is asked for by name.
    module = importlib.import_module("torchtalkd.conventions.load")
    monkeypatch.setattr(module, "_packaged_texts", lambda: texts)
    with pytest.raises(ManifestError, match=r"b\.toml:5: .*circle: a → b → a"):
        load("a")
    assert load("c").extends == ()


# -- the documentation


def _documented(cls: type) -> set[str]:
    hidden = {"harness", "version", "rules", "fingerprint", "bases"}
    return {field.name for field in dataclasses.fields(cls)} - hidden


def test_every_field_is_documented_and_every_example_loads(tmp_path: Path) -> None:
    text = (REPOSITORY / "docs" / "manifests.md").read_text()
    classes = (
        values.Conventions,
        values.Files,
        values.Cpp,
        values.Python,
        values.PythonBinding,
        values.PythonLayer,
        values.PythonRegistry,
        values.PythonLookup,
        values.Provides,
    )
    for cls in (
        *classes,
        values.Operators,
        facts.Rules,
        facts.Category,
        facts.DispatchKeys,
        facts.Torchgen,
        facts.TestRules,
        facts.TestInfo,
        values.PythonTests,
        values.Shape,
        values.StubRule,
        values.MacroDefinition,
    ):
        for name in _documented(cls):
            assert re.search(rf"`{name}`|\b{name} =|\[(?:link\.)?{name}\]", text), (cls.__name__, name)
    for example in re.findall(r"```toml\n(.*?)```", text, re.DOTALL):
        in_tree(tmp_path, example)


def test_every_example_of_the_tables_is_right(tmp_path: Path) -> None:
    text = (REPOSITORY / "docs" / "manifests.md").read_text()
    section = ""
    for line in text.split("\n"):
        heading = re.match(r"###? `\[([\w.]+)\]`", line)
        section = heading.group(1) if heading else "" if line.startswith("## ") else section
        row = re.match(r"\| `(\w+)` \|.*\| `(\w+ = .*)` \|$", line)
        if not row or row.group(1) == "format":
            continue
        example = row.group(2).replace("\\|", "|")
        if section == "python" and row.group(1) not in _documented(values.Python):
            needed = {"id": '"a"', "call": '"b"', "kind": '"docs"'}
            needed.pop(row.group(1), None)
            example = "[[python.bindings]]\n" + "".join(f"{k} = {v}\n" for k, v in needed.items()) + example
        elif section:
            example = f"[{section}]\n{example}"
        in_tree(tmp_path, f"format = 1\n{example}\n")


def test_the_types_of_all_fields_are_ones_that_the_checker_knows() -> None:
    for cls in (values.Files, values.Cpp, values.Python, values.PythonBinding, facts.Rules):
        for hint in typing.get_type_hints(cls).values():
            assert typing.get_origin(hint) in (None, tuple, dict, type(int | str)), hint
