"""What an index holds against what is expected of it: minimums, anchors, unread registrations."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.facts_view import view_of_sources
from torchtalkd import cli
from torchtalkd.harness.sites import sites
from torchtalkd.harness.values import Anchor, Site
from torchtalkd.queries.verify import AnchorCheck, verify
from torchtalkd.store.view import View

SOURCES = {
    "csrc/turn.cpp": """
#include <torch/library.h>
namespace mine {
at::Tensor turn_cpu(const at::Tensor& x) { return x; }
}
TORCH_LIBRARY(mine, m) { m.def("turn(Tensor x) -> Tensor"); }
TORCH_LIBRARY_IMPL(mine, CPU, m) { m.impl("turn", &mine::turn_cpu); }
OTHER_LIBRARY(mine, m) { m.impl("turn", &mine::turn_cpu); }
REGISTER_ODDLY(turn, &turn_cpu)
""",
    "mine/ops.py": "def turn(x):\n    return torch.ops.mine.turn(x)\n",
}


def line_at(file: str, line: int) -> str:
    return SOURCES[file].split("\n")[line - 1]


def found_sites() -> list[Site]:
    language = {"cpp": "cpp", "py": "python"}
    return [
        site for path, text in SOURCES.items() for site in sites(path, text, language[path[-3:].strip(".")])
    ]


@pytest.fixture(scope="module")
def view() -> View:
    return view_of_sources(SOURCES, "torch-extension")


def test_minimums_are_compared_with_what_the_index_counts(view: View) -> None:
    done = verify(view, {"schema": 1, "registration": 9, "kernel": 1, "files": 2}, (), (), line_at)
    assert [(one.kind, one.found, one.holds) for one in done.minimums] == [
        ("files", 2, True),
        ("kernel", 0, False),
        ("registration", 1, False),
        ("schema", 1, True),
    ]
    assert done.short == 2


def checked(view: View, *anchor: str) -> AnchorCheck:
    (check,) = verify(view, {}, [Anchor(*anchor)], (), line_at).anchors
    return check


def test_an_anchor_holds_where_its_name_leads_to_its_file(view: View) -> None:
    check = checked(view, "torch.ops.mine.turn", "csrc/turn.cpp", "native", "CPU", "turn_cpu(const")
    assert (check.holds, check.line) == (True, 4)
    assert checked(view, "mine.ops.turn", "mine/ops.py").line == 1


@pytest.mark.parametrize(
    ("anchor", "why"),
    [
        (("mine::trun", "csrc/turn.cpp"), "nothing has this name; nearest: "),
        (("mine::turn", "csrc/gone.cpp"), "the index has no such file"),
        (("mine.ops.turn", "csrc/turn.cpp"), "leads to mine/ops.py:1"),
        (("mine::turn", "csrc/turn.cpp", "derivative"), "leads there only as "),
        (("mine::turn", "csrc/turn.cpp", "native", "CUDA"), "leads there only as native CPU"),
        (
            ("mine::turn", "csrc/turn.cpp", "native", "CPU", "other"),
            "line 4 there, which does not say 'other'",
        ),
    ],
)
def test_an_anchor_that_fails_says_why(view: View, anchor: tuple[str, ...], why: str) -> None:
    check = checked(view, *anchor)
    assert not check.holds
    assert why in check.why


def test_what_no_convention_matched_is_listed_by_spelling(view: View) -> None:
    done = verify(view, {}, (), found_sites(), line_at)
    assert [(group[0].form, group[0].name, group[0].line) for group in done.unmatched] == [
        ("entry", "impl", 8),
        ("library", "OTHER_LIBRARY", 8),
        ("macro", "REGISTER_ODDLY", 9),
    ]
    assert done.short == 0, "a list to look at, not a failure"


# -- the command


ANCHORS = """version: 1.0.0
anchors:
  - name: waves::ripple
    file: csrc/ops.cpp
"""


def ran(capfd: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    capfd.readouterr()
    code = cli.main(["harness", "verify", *map(str, arguments)])
    out, err = capfd.readouterr()
    return code, out, err


def test_a_tree_brings_minimums_and_anchors(extension_tree: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (extension_tree / ".torchtalk.toml").write_text(
        'format = 1\nname = "waves"\nextends = "torch-extension"\nexpected_minimums = { schema = 2 }\n'
    )
    anchors = extension_tree / "tests" / "integration" / "waves.yml"
    anchors.parent.mkdir(parents=True)
    anchors.write_text(ANCHORS)
    code, out, _ = ran(capfd, "--source", extension_tree)
    assert code == 0, out
    assert "all 2 checks hold" in out
    assert str(anchors) in out

    anchors.write_text(ANCHORS.replace("ops.cpp", "fourier.cpp"))
    text = (extension_tree / ".torchtalk.toml").read_text().replace("schema = 2", "schema = 2000")
    (extension_tree / ".torchtalk.toml").write_text(text)
    code, out, _ = ran(capfd, "--source", extension_tree)
    assert code == 1
    assert "SHORT schema" in out
    assert "FAILS waves::ripple" in out
    assert "(waves.yml:3)" in out
    assert "2 of 2 fell short" in out

    (extension_tree / "csrc" / "more.cpp").write_text("WAVES_LIBRARY(waves, m) {}\n")
    code, out, _ = ran(capfd, "--json", "--source", extension_tree)
    told = json.loads(out)
    assert (code, told["short"], told["harness"]) == (1, 2, "waves")
    assert [anchor["holds"] for anchor in told["anchors"]] == [False]
    assert told["minimums"][0]["expected"] == 2000
    (unmatched,) = told["unmatched"]
    assert (unmatched["name"], unmatched["count"]) == ("WAVES_LIBRARY", 1)
    assert 'shape = "torch_library"' in unmatched["proposal"]


def test_without_minimums_and_anchors_nothing_is_said_to_hold(
    extension_tree: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = ran(capfd, "--source", extension_tree, "--harness", "torch-extension")
    assert code == 0
    assert "nothing was checked" in out
    assert "tests/integration/torch-extension.yml" in out


def test_wrong_anchors_are_refused_before_anything_is_read(
    extension_tree: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "a.yml"
    file.write_text("anchors:\n  - name: x\n    fiel: y\n")
    code, out, err = ran(capfd, "--source", extension_tree, "--anchors", file)
    assert (code, out) == (2, "")
    assert err == (
        f"torchtalkd: {file}:3: unknown field 'fiel' in an anchor; did you mean 'file'?"
        " fields: name, file, role, dispatch_key, text\n"
    )


def test_a_line_that_moved_is_looked_at_where_it_is_now(
    extension_tree: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    anchors = tmp_path / "moved.yml"
    anchors.write_text(ANCHORS + "    role: native\n    text: 'ripple_cpu(const'\n")
    source = extension_tree / "csrc" / "ops.cpp"
    for expected in (6, 8):
        code, out, _ = ran(capfd, "--json", "--source", extension_tree, "--anchors", anchors)
        assert (code, json.loads(out)["anchors"][0]["found_line"]) == (0, expected)
        source.write_text("\n\n" + source.read_text())


@pytest.mark.real_tree
@pytest.mark.parametrize(
    ("folder", "harness"), [("pytorch", "pytorch"), ("vision", "torchvision"), ("vllm", "vllm")]
)
def test_what_ships_holds_on_the_real_tree(
    trees: Path, folder: str, harness: str, capfd: pytest.CaptureFixture[str]
) -> None:
    if not (trees / folder).is_dir():
        pytest.skip(f"needs {trees / folder}")
    code, out, _ = ran(capfd, "--json", "--source", trees / folder)
    told = json.loads(out)
    assert told["harness"] == harness
    assert len(told["anchors"]) >= {"pytorch": 30, "torchvision": 15, "vllm": 20}[harness]
    assert [(one["name"], one["file"], one["why"]) for one in told["anchors"] if not one["holds"]] == []
    assert [one for one in told["minimums"] if not one["holds"]] == []
    assert code == 0
