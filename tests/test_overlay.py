"""A view with unsaved texts on it answers what the index would answer if they were saved."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from torchtalkd.conventions import load
from torchtalkd.engine import build
from torchtalkd.facts import FiledDefinition, FiledReference
from torchtalkd.parse import draft as drafts
from torchtalkd.parse.draft import draft
from torchtalkd.queries.search import search
from torchtalkd.queries.trace import trace
from torchtalkd.store.database import open_view
from torchtalkd.store.exact_bodies import ExactBodies
from torchtalkd.store.exact_view import ExactFacts
from torchtalkd.store.include_lines import IncludeLines
from torchtalkd.store.outlines import Outlines
from torchtalkd.store.overlaid import Overlaid, overlaid
from torchtalkd.store.view import View

YAML = "aten/src/ATen/native/native_functions.yaml"
EDITS = [
    (YAML, "    MPS: relu_mps\n", "    MPS: relu_mps_new\n    Meta: relu_meta\n"),
    (YAML, "- func: sigmoid(Tensor self)", "\n\n- func: sigmoidal(Tensor self)"),
    ("aten/src/ATen/native/Activation.cpp", "Tensor relu(const", "// a line\nTensor relu(const"),
    ("aten/src/ATen/native/BinaryOps.cpp", "DEFINE_DISPATCH(mul_stub);", "DEFINE_DISPATCH(mul2_stub);"),
    ("torch/nn/functional.py", "def relu(input, inplace=False):", "def relu2(input):"),
    ("torch/functional.py", "torch.matmul(result, matrix)", "torch.mm(result, matrix)"),
]


NAMES = ("torch.relu", "torch.nn.functional.relu", "aten::sigmoidal", "mul_stub", "torch.matmul", "torch.mul")


def plain(found: list[FiledDefinition] | list[FiledReference]) -> list[object]:
    """Facts without ordinals, in one order."""
    owned = {"scope": 0}, {"owner": 0}
    return sorted((f.file.path, f.fact._replace(**owned[hasattr(f.fact, "owner")])) for f in found)


@pytest.mark.parametrize("in_part", [False, True], ids=["whole", "patched"])
@pytest.mark.parametrize(("path", "old", "new"), EDITS)
def test_it_answers_as_if_it_were_saved(
    mini_tree: Path,
    tmp_path: Path,
    path: str,
    old: str,
    new: str,
    in_part: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    conventions = load("pytorch", tree=mini_tree)
    build(mini_tree, tmp_path / "i", conventions, workers=1)
    file = mini_tree / path
    before = file.read_bytes()
    assert old.encode() in before
    after = before.replace(old.encode(), new.encode(), 1)
    if in_part:
        monkeypatch.setattr(drafts, "QUICK_LINES", 0)
    made = draft(path, after, conventions, draft(path, before, conventions))
    with open_view(tmp_path / "i") as below:
        shown = overlaid(below, [made.overlay])
        assert overlaid(below, [made.overlay]) is shown and overlaid(below, []) is below
        file.write_bytes(after)
        build(mini_tree, tmp_path / "i", conventions, workers=1)
        with open_view(tmp_path / "i") as saved:
            _compare(shown, saved, path)


def _compare(shown: View, saved: View, path: str) -> None:
    own, other = shown.file(path), saved.file(path)
    assert own is not None and other is not None
    assert plain(shown.definitions_in(own)) == plain(saved.definitions_in(other))
    assert plain(shown.references_in(own)) == plain(saved.references_in(other))
    keys = {d.fact.key for view, file in ((shown, own), (saved, other)) for d in view.definitions_in(file)}
    keys |= {r.fact.key for r in saved.references_in(other)}
    for key in sorted(keys):
        assert plain(shown.definitions(key)) == plain(saved.definitions(key)), key
        assert shown.count(key) == saved.count(key), key
        assert plain(shown.references(key)) == plain(saved.references(key)), key
        assert plain(shown.targeting(key)) == plain(saved.targeting(key)), key
        for kind in ("operator", "function", "registration", "stub", "macro_use"):
            assert plain(shown.of_kind(key, kind)) == plain(saved.of_kind(key, kind)), (key, kind)
    for kind in ("operator", "derivative", "stub", "stub_kernel", "class"):
        assert shown.keys_of_kind(kind) == saved.keys_of_kind(kind), kind
        assert plain(shown.definitions_of_kind(kind)) == plain(saved.definitions_of_kind(kind)), kind
    for space in ("op", "cpp", "py", "macro"):
        assert shown.keys(space) == saved.keys(space), space
    assert plain(shown.library_uses()) == plain(saved.library_uses())
    assert plain(shown.making_macros()) == plain(saved.making_macros())
    for definition, twin in zip(_ordered(shown, own), _ordered(saved, other), strict=True):
        assert plain(shown.inside(definition)) == plain(saved.inside(twin)), definition.fact
        assert plain(shown.targets(definition)) == plain(saved.targets(twin)), definition.fact
        around, second = shown.scope(definition), saved.scope(twin)
        assert (around and around.fact.name) == (second and second.fact.name)
    for line in range(1, 40):
        assert plain(shown.references_on(own, line)) == plain(saved.references_on(other, line)), line
    for name in NAMES:
        assert set(trace(shown, name).items) == set(trace(saved, name).items), name
    assert set(search(shown, "relu", limit=99).items) == set(search(saved, "relu", limit=99).items)


def _ordered(view: View, file: object) -> list[FiledDefinition]:
    return sorted(view.definitions_in(file), key=lambda d: d.fact._replace(scope=0))  # type: ignore[arg-type]


def test_a_text_that_the_index_lacks_is_seen(mini_tree: Path, tmp_path: Path) -> None:
    conventions = load("pytorch", tree=mini_tree)
    build(mini_tree, tmp_path / "i", conventions, workers=1)
    text = b"namespace at::native {\nTensor brand_new(const Tensor& self) { return at::relu(self); }\n}\n"
    with open_view(tmp_path / "i") as below:
        shown = overlaid(below, [draft("aten/src/ATen/native/New.cpp", text, conventions).overlay])
        (found,) = shown.definitions("cpp:brand_new")
        assert found.file.path == "aten/src/ATen/native/New.cpp" and shown.scope(found) is None
        assert [r.fact.name for r in shown.inside(found)] == ["at::relu"]
        assert "cpp:brand_new" in shown.keys("cpp", "brand") and shown.files()[-1] is not None
        assert below.definitions("cpp:brand_new") == []


def test_every_question_of_a_view_is_answered() -> None:
    asked = {name for name, _ in inspect.getmembers(View, inspect.isfunction) if not name.startswith("_")}
    # These are asked of the view below, by what `Overlaid` has of its own (`_source`).
    of_parts = {name for part in (ExactBodies, ExactFacts, IncludeLines, Outlines) for name in vars(part)}
    assert asked - set(vars(Overlaid)) - of_parts == set()


def by_id(pieces: Iterable[Sequence[FiledDefinition]]) -> dict[int, FiledDefinition]:
    return {d.id: d for some in pieces for d in some}


def test_pieces_are_the_whole(mini_tree: Path, tmp_path: Path) -> None:
    """Of a view, and of one with a text laid over it."""
    folder = tmp_path / "index"
    build(mini_tree, folder, load("pytorch", tree=mini_tree), workers=1)
    path = "aten/src/ATen/native/LinearAlgebra.cpp"
    with open_view(folder) as view:
        text = (mini_tree / path).read_bytes() + b"\n#define MAKE(n) void n##_made() {}\nMAKE(quite)\n"
        laid = overlaid(view, [draft(path, text, load("pytorch", tree=mini_tree), None, whole=True).overlay])
        assert laid is not view
        for one in (view, laid):
            assert by_id(one.uses_in_libraries()) == by_id([one.library_uses()])
            assert by_id(one.macros_that_make()) == by_id([one.making_macros()])
            for kind in ("function", "python_binding", "operator"):
                assert {k for some in one.keys_in_pieces(kind) for k in some} == one.keys_of_kind(kind)
            for file in one.files():
                there = one.definitions_in(file)
                for kinds in (("function", "class"), ("registration",)):
                    few = [d for d in there if d.fact.kind in kinds]
                    assert one.kinds_in(file, kinds) == few
                    assert one.names_in(file, kinds) == [(d.fact.line, d.fact.name) for d in few]
            one.prepare([d.id for file in one.files() for d in one.definitions_in(file)])
        counted: dict[str, int] = {}
        for some in view.counts_in_pieces():
            for kind, number in some.items():
                counted[kind] = counted.get(kind, 0) + number
        assert counted.items() <= view.counts().items()
        assert sorted(line for lines in view.include_lines_in_pieces() for line in lines) == sorted(
            {
                (file.id, r.fact.name)
                for file in view.files()
                for r in view.references_of_kind(file, "include")
            }
        )
