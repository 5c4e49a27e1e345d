"""The harness commands, what they read from a tree, and that a tree's own manifest is followed."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY
from torchtalkd import cli
from torchtalkd.conventions import detect, known, load
from torchtalkd.conventions.origins import origins
from torchtalkd.harness.anchors import AnchorError, anchors_for, read_anchors
from torchtalkd.harness.survey import survey

OWN = 'format = 1\nname = "mine"\nextends = "torch-extension"\n'


@pytest.fixture(autouse=True)
def _nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A current folder that is in no tree, and a cache of its own."""
    folder = tmp_path / "nowhere"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / "config"))


class Ran:
    def __init__(self, capfd: pytest.CaptureFixture[str]) -> None:
        self._capfd = capfd

    def __call__(self, *arguments: object, code: int = 0) -> str:
        """What a command prints on stdout; on stderr where it fails, which must be one sentence."""
        self._capfd.readouterr()
        assert cli.main([str(one) for one in arguments]) == code, self._capfd.readouterr()
        out, err = self._capfd.readouterr()
        if code != 2:
            return out
        assert out == ""
        assert err.startswith("torchtalkd: ")
        assert err.count("\n") == 1
        return err


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Ran:
    return Ran(capfd)


# -- list


def test_list_says_which_harness_a_tree_is_read_with(run: Ran, extension_tree: Path) -> None:
    told = json.loads(run("harness", "list", "--json", "--source", extension_tree))
    assert [row["name"] for row in told["harnesses"]] == known()
    assert [row["name"] for row in told["harnesses"] if row["chosen"]] == ["torch-extension"]
    (extension_tree / ".torchtalk.toml").write_text(OWN)
    told = json.loads(run("harness", "list", "--json", "--source", extension_tree))
    assert [row["name"] for row in told["harnesses"]] == ["mine", *known()]
    (own,) = [row for row in told["harnesses"] if row["chosen"]]
    assert (own["name"], own["from"]) == ("mine", str(extension_tree / ".torchtalk.toml"))
    assert own["depends_on"] == ["pytorch"]
    text = run("harness", "list", "--source", extension_tree)
    assert text.splitlines()[0].startswith("* mine ")


def test_list_needs_no_tree(run: Ran) -> None:
    told = json.loads(run("harness", "list", "--json"))
    assert (told["root"], told["total"]) == ("", len(known()))
    assert "does not exist" in run("harness", "list", "--source", "/nonexistent", code=2)
    told = json.loads(run("harness", "list", "--json", "--source", "."))
    assert [row["name"] for row in told["harnesses"] if row["chosen"] or row["detected"]] == []


# -- show


@pytest.mark.parametrize("name", ["pytorch", "torch-extension", "torchvision", "vllm"])
def test_show_gives_the_values_of_load_each_with_its_place(name: str, run: Ran) -> None:
    made = load(name)
    told = json.loads(run("harness", "show", name, "--json"))
    values: dict[str, list[object]] = {}
    for one in told["settings"]:
        values.setdefault(one["field"], []).append(one["value"])
        line = Path(one["file"]).read_text().split("\n")[one["line"] - 1]
        piece = one["value"] if not isinstance(one["value"], dict) else next(iter(one["value"].values()))
        near = "\n".join(Path(one["file"]).read_text().split("\n")[one["line"] - 1 : one["line"] + 3])
        assert str(piece) in near, (one, line)
    assert values["files.ignore"] == list(made.files.ignore)
    assert len(values["cpp.blank"]) == len(made.cpp.blank)
    assert {shape["name"] for shape in values["cpp.shapes"]} == {s.name for s in made.cpp.shapes}  # type: ignore[index]
    assert {b["id"] for b in values["python.bindings"]} == {b.id for b in made.python.bindings}  # type: ignore[index]
    assert values["link.operator_namespace"] == [made.rules.operator_namespace]
    assert told["fingerprint"] == made.fingerprint


def test_a_later_value_is_shown_at_its_own_place(tmp_path: Path, run: Ran) -> None:
    own = tmp_path / ".torchtalk.toml"
    own.write_text(
        OWN + '[files]\nmax_bytes = 7\nlanguages = { ".cu" = "cpp" }\n[cpp]\nblank = ["C10_API"]\n'
    )
    found = {(one.field, str(one.value)): one for one in origins("mine", tree=tmp_path)}
    assert found["files.max_bytes", "7"].line == 5
    assert (found["files.languages..cu", "cpp"].file, found["files.languages..cu", "cpp"].line) == (
        str(own),
        6,
    )
    assert ("files.languages..cu", "cuda") not in found
    assert found["cpp.blank", "C10_API"].line == 8
    assert found["cpp.blank", "TORCH_API"].file.endswith("torch-extension.toml")
    text = run("harness", "show", "mine", "--source", tmp_path)
    assert "# .torchtalk.toml:5" in text
    assert "'mime'" in run("harness", "show", "mime", code=2)


def test_what_pytorch_depends_on_is_not_itself(tmp_path: Path) -> None:
    assert load("pytorch").depends_on == ()
    assert "depends_on" not in {one.field for one in origins("pytorch")}
    assert load("torch-extension").depends_on == ("pytorch",)


# -- new


@pytest.fixture
def strange_tree(tmp_path: Path) -> Path:
    """A repository that no harness fits, with folders and macros of its own."""
    files = {
        "kernels/turn.cpp": (
            "#define TURN_API __attribute__((visibility))\n"
            "TURN_API int turned(int x);\n"
            "at::Tensor turn_cpu(const at::Tensor& x) { return x; }\n"
            'TURN_LIBRARY(turn, m) { m.def("turn(Tensor x) -> Tensor"); }\n'
            'TURN_LIBRARY_IMPL(turn, CPU, m) { m.impl("turn", &turn_cpu); }\n'
        ),
        "bindings/turning/__init__.py": "import torch\n",
        "bindings/turning/fake.py": "@our_register_fake('turn::turn')\ndef turn(x):\n    return x\n",
        "unit_tests/check.py": "import turning\n",
        "vendored/other/LICENSE": "theirs\n",
        "vendored/other/x.cpp": "int x;\n",
        "modules/sub/y.cpp": "int y;\n",
        ".gitmodules": '[submodule "sub"]\n\tpath = modules/sub\n\turl = ../sub\n',
    }
    for path, text in files.items():
        (tmp_path / "strange" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "strange" / path).write_text(text)
    return tmp_path / "strange"


def test_new_drafts_a_manifest_that_is_found_and_reads_what_was_unread(run: Ran, strange_tree: Path) -> None:
    assert detect(strange_tree) == []
    assert "wrote" in run("harness", "new", "turn", "--source", strange_tree)
    text = (strange_tree / ".torchtalk.toml").read_text()
    assert detect(strange_tree) == ["turn"]
    made = load("", tree=strange_tree)
    assert (made.name, made.extends) == ("turn", ("torch-extension",))
    assert made.python.roots == (*load("torch-extension").python.roots, "bindings")
    assert "unit_tests" in made.files.tests
    assert "TURN_API" in {macro.name for macro in made.cpp.blank}
    assert '#   "vendored/other"' in text or '# ignore = ["modules/sub", "vendored/other"]' in text
    assert "# A guess" in text
    assert '# call = "our_register_fake"' in text
    told = json.loads(run("trace", "turn::turn", "--json", "--source", strange_tree))
    assert {item["file"] for item in told["items"]} >= {"kernels/turn.cpp"}
    assert "CPU" in {item.get("dispatch_key") for item in told["items"]}
    verified = json.loads(run("harness", "verify", "--json", "--source", strange_tree))
    assert [group["name"] for group in verified["unmatched"]] == ["our_register_fake"]


def test_new_prints_or_writes_elsewhere_and_replaces_only_if_told(
    run: Ran, strange_tree: Path, tmp_path: Path
) -> None:
    own = strange_tree / ".torchtalk.toml"
    printed = run("harness", "new", "turn", "--print", "--source", strange_tree)
    assert printed.count("format = 1") == 1
    assert not own.exists()
    run("harness", "new", "turn", "-o", tmp_path / "draft.toml", "--source", strange_tree)
    assert (tmp_path / "draft.toml").read_text() == printed
    own.write_text(OWN)
    assert "--force" in run("harness", "new", "turn", "--source", strange_tree, code=2)
    assert own.read_text() == OWN
    run("harness", "new", "turn", "--force", "--source", strange_tree)
    assert 'name = "turn"' in own.read_text()


@pytest.mark.parametrize("name", ["../turn", "a/b", "a b", "", ".hidden", "x" * 65, "vllm"])
def test_new_takes_a_name_and_no_path(run: Ran, strange_tree: Path, name: str) -> None:
    run("harness", "new", name, "--source", strange_tree, code=2)
    assert not (strange_tree / ".torchtalk.toml").exists()


def test_new_says_what_it_cannot_draft_from(
    run: Ran, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    assert cli.main(["harness", "new", "x", "--source", str(empty)]) == 1
    assert "has no file that torch-extension reads" in capfd.readouterr().err
    assert "does not exist" in run("harness", "new", "x", "--source", tmp_path / "gone", code=2)
    assert list(empty.iterdir()) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_new_says_that_it_may_not_write(
    run: Ran, strange_tree: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    strange_tree.chmod(0o555)
    try:
        assert cli.main(["harness", "new", "x", "--source", str(strange_tree)]) == 1
        assert "Permission denied" in capfd.readouterr().err
    finally:
        strange_tree.chmod(0o755)


def test_a_tree_of_strange_names_gives_a_manifest_all_the_same(run: Ran, strange_tree: Path) -> None:
    folder = strange_tree / "li\nne" / "tests_of[it"
    for path in (folder / "LICENSE", folder / "x.cpp", strange_tree / "te[st" / "pkg" / "__init__.py"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text('TURN_MODULE(a, m) { m.def("f\x1b[31m\x00", &f); }\n')
    (folder / "y.py").write_text("@register_it('\x0c')\ndef f(): ...\n")
    run("harness", "new", "turn", "--source", strange_tree)
    assert load("", tree=strange_tree).name == "turn"
    assert (strange_tree / ".torchtalk.toml").read_text().replace("\n", "").isprintable()


# -- the survey


def test_a_survey_says_how_a_tree_is_laid_out(strange_tree: Path) -> None:
    found = survey(strange_tree, load("torch-extension"))
    assert found.cpp.total == 3
    assert found.cpp.largest[0] == ("kernels", 1) or ("kernels", 1) in found.cpp.largest
    assert found.python_roots == ("bindings",)
    assert found.test_folders == ("unit_tests",)
    assert found.foreign == ("modules/sub", "vendored/other")
    assert found.attributes == ("TURN_API",)


# -- a manifest with a mistake


SPECIAL = {
    "a folder": lambda path: path.mkdir(),
    "a pipe": os.mkfifo,
    "a link out of the tree": lambda path: path.symlink_to("/etc/hostname"),
    "a link to nowhere": lambda path: path.symlink_to("gone.toml"),
    "a large file": lambda path: path.write_bytes(b"#" * 10_000_000),
    "no text": lambda path: path.write_bytes(b"format = 1\n\xff\xfe"),
    "no TOML": lambda path: path.write_text("format = 1\n[["),
    "a newer format": lambda path: path.write_text("format = 2\n"),
    "a command": lambda path: path.write_text('format = 1\ncommand = "rm"\n'),
    "a path out of the root": lambda path: path.write_text('format = 1\n[files]\nignore = ["../x"]\n'),
    "an unknown parent": lambda path: path.write_text('format = 1\nextends = "pytroch"\n'),
    "a path for a parent": lambda path: path.write_text('format = 1\nextends = "../other.toml"\n'),
    "an unknown dependency": lambda path: path.write_text('format = 1\ndepends_on = ["jax"]\n'),
    "an unknown minimum": lambda path: path.write_text("format = 1\nexpected_minimums = { ops = 1 }\n"),
}


@pytest.mark.parametrize("what", SPECIAL)
def test_a_wrong_manifest_is_refused_and_the_index_stays(what: str, run: Ran, extension_tree: Path) -> None:
    run("index", "build", "--source", extension_tree)
    before = json.loads(run("status", "--json", "--source", extension_tree))
    own = extension_tree / ".torchtalk.toml"
    SPECIAL[what](own)
    for command in (
        ["trace", "ripple"],
        ["index", "build"],
        ["harness", "verify"],
        ["harness", "list"],
        ["status"],
    ):
        assert f"{own}:" in run(*command, "--source", extension_tree, code=2)
    own.rmdir() if own.is_dir() and not own.is_symlink() else own.unlink()
    after = json.loads(run("status", "--json", "--source", extension_tree))
    assert {**after, "daemon": None} == {**before, "daemon": None}


def test_an_edited_manifest_changes_the_index_as_a_new_one_would(run: Ran, extension_tree: Path) -> None:
    own = extension_tree / ".torchtalk.toml"
    (extension_tree / "csrc" / "own.cpp").write_text(
        'WAVES_LIBRARY(waves, m) { m.def("surge(Tensor x) -> Tensor"); }\n'
    )
    assert cli.main(["trace", "waves::surge", "--source", str(extension_tree)]) == 1
    shape = '{ name = "WAVES_LIBRARY", shape = "torch_library", options = { form = "def" } }'
    own.write_text(f"{OWN}[cpp]\nshapes = [{shape}]\n")
    assert "own.cpp" in run("trace", "waves::surge", "--source", extension_tree)
    own.write_text(OWN)
    assert cli.main(["trace", "waves::surge", "--source", str(extension_tree)]) == 1


def test_a_trees_own_manifest_goes_before_what_was_remembered(run: Ran, extension_tree: Path) -> None:
    run("init", "--source", extension_tree, "--harness", "pytorch")
    assert json.loads(run("status", "--json", "--source", extension_tree))["harness"] == "pytorch"
    (extension_tree / ".torchtalk.toml").write_text(OWN)
    assert json.loads(run("index", "build", "--json", "--source", extension_tree))["harness"] == "mine"
    assert "not 'vllm'" in run("trace", "ripple", "--source", extension_tree, "--harness", "vllm", code=2)


# -- anchors


MISTAKES = {
    # what is wrong: (text, line, words that the message has)
    "no YAML": ("anchors:\n  - name: [\n", 3, "not valid YAML"),
    "no list": ("anchors: x\n", 1, "must be a list"),
    "nothing": ("", 1, "must be a list"),
    "an empty list": ("anchors: []\n", 1, "no anchor"),
    "a text for an anchor": ("anchors:\n- x\n", 2, "is a table"),
    "an unknown field": ("anchors:\n- name: a\n  file: b\n  key: c\n", 4, "'key'"),
    "an unknown top field": ("anchor: []\n", 1, "did you mean 'anchors'"),
    "no file": ("anchors:\n- name: a\n", 2, "needs the field 'file'"),
    "an absolute path": ("anchors:\n- name: a\n  file: /etc/passwd\n", 2, "/etc/passwd"),
    "a path out of the tree": ("anchors:\n- name: a\n  file: ../b\n", 2, "'../b'"),
    "an empty name": ("anchors:\n- name: ''\n  file: b\n", 2, "empty"),
    "a list for a text": ("anchors:\n- name: [a]\n  file: b\n", 2, "must be text"),
    "a field twice": ("anchors:\n- name: a\n  file: b\n  name: c\n", 4, "twice"),
    "an alias": ("anchors:\n- &a {name: a, file: b}\n- *a\n", 3, "aliases"),
    "depth": ("[" * 30, 1, "nested too deeply"),
    "great depth": ("[" * 3000, 1, "nesting"),
    "no UTF-8": (b"anchors:\n- name: \xff\n", 2, "UTF-8"),
    "a large file": (b"#" * 1_000_001, 0, "larger"),
}


@pytest.mark.parametrize("what", MISTAKES)
def test_a_mistake_in_anchors_is_refused_with_its_line(what: str, tmp_path: Path) -> None:
    text, line, words = MISTAKES[what]
    path = tmp_path / "a.yml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(AnchorError) as caught:
        read_anchors(path)
    assert str(caught.value).startswith(f"{path}:{line}: " if line else f"{path}: ")
    assert words in str(caught.value)


def test_anchors_are_the_trees_own_or_those_that_ship(tmp_path: Path) -> None:
    shipped = anchors_for("torchvision", tmp_path)
    assert shipped is not None
    assert Path(shipped.path) == REPOSITORY / "tests" / "integration" / "torchvision.yml"
    own = tmp_path / "tests" / "integration" / "torchvision.yml"
    own.parent.mkdir(parents=True)
    own.write_text("- name: a\n  file: b\n")
    found = anchors_for("torchvision", tmp_path)
    assert found is not None
    assert (found.path, [anchor.name for anchor in found.anchors]) == (str(own), ["a"])
    assert anchors_for("_template", tmp_path) is None
    own.unlink()
    own.symlink_to("/etc/hostname")
    with pytest.raises(AnchorError, match="leads out"):
        anchors_for("torchvision", tmp_path)


def test_the_anchors_that_ship_can_be_read() -> None:
    for path in sorted((REPOSITORY / "tests" / "integration").glob("*.yml")):
        found = read_anchors(path)
        assert found.version
        same = [(anchor.name, anchor.file, anchor.role, anchor.text) for anchor in found.anchors]
        assert len(set(same)) == len(same)


@pytest.mark.real_tree
@pytest.mark.parametrize(
    ("folder", "harness"), [("pytorch", "pytorch"), ("vision", "torchvision"), ("vllm", "vllm")]
)
def test_every_anchor_is_what_a_search_of_the_tree_finds(trees: Path, folder: str, harness: str) -> None:
    if not (trees / folder).is_dir():
        pytest.skip(f"needs {trees / folder}")
    for anchor in read_anchors(REPOSITORY / "tests" / "integration" / f"{harness}.yml").anchors:
        assert anchor.text in (trees / folder / anchor.file).read_text("utf-8", "replace"), anchor
