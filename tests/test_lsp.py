"""What each request of an editor is answered with, over the real bridge and daemon."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import DEMO_TREE, _copy
from tests.daemons import Home, until
from tests.editors import EDITORS, NEOVIM, VS_CODE, Editor, indexed_home, places, spot

SCRIPT = """import torch
import torch.nn.functional as F
from torch import Tensor

def run(x: Tensor, w):
    torch.mm(x, x)
    F.relu(x)
    x @ x
    x.mul_(2)
    w.sigmoid()
    y = torch.matmul(x, x)
    y.relu()
    run(x, w)
"""
NATIVE = "aten/src/ATen/native"
YAML = f"{NATIVE}/native_functions.yaml"
MM, MATMUL = ("LinearAlgebra.cpp", 25), ("LinearAlgebra.cpp", 18)


@pytest.fixture(scope="module")
def home() -> Iterator[Home]:
    with indexed_home() as made:
        yield made


@pytest.fixture(scope="module")
def tree(home: Home) -> Path:
    return home.folder / "tree"


@pytest.fixture(scope="module")
def editor(home: Home, tree: Path) -> Iterator[Editor]:
    """One session that the tests of single requests share."""
    made = Editor(home.environ, capabilities=VS_CODE)
    made.initialize(tree)
    ready(made)
    yield made
    made.kill()


def ready(editor: Editor) -> None:
    """Waits until the index is there."""

    def complete() -> bool:
        roots = editor.ask("torchtalk/status", {})["roots"]
        return bool(roots) and all(root["responsive"] for root in roots)

    until(complete, "an index")


@pytest.fixture
def script(editor: Editor, tree: Path) -> Iterator[str]:
    uri = editor.open(tree / "scratch.py", SCRIPT)
    yield uri
    editor.notify("textDocument/didClose", {"textDocument": {"uri": uri}})


def ask(editor: Editor, method: str, uri: str, text: str, needle: str, offset: int = 0, **more: Any) -> Any:
    return editor.at(method, uri, *spot(text, needle, offset), **more)


@pytest.mark.parametrize(
    ("needle", "offset", "definition"),
    [
        ("torch.mm", 6, [MM]),
        ("F.relu", 2, [("functional.py", 7), ("Activation.cpp", 5)]),
        ("x.mul_", 2, [("BinaryOps.cpp", 21)]),
        ("y.relu", 2, [("Activation.cpp", 5)]),
        ("torch.matmul", 0, []),
        ("run(x, w)\n", 0, []),
        ("def run", 0, []),
    ],
)
def test_definition(editor: Editor, script: str, needle: str, offset: int, definition: list[Any]) -> None:
    found = ask(editor, "definition", script, SCRIPT, needle, offset)
    assert places(found) == definition
    assert found is None or definition, "what we add nothing to is null, not an empty list"


def test_a_link_says_what_it_is_from(editor: Editor, script: str) -> None:
    (link,) = ask(editor, "definition", script, SCRIPT, "torch.mm", 7)
    assert link["originSelectionRange"] == {
        "start": {"line": 5, "character": 10},
        "end": {"line": 5, "character": 12},
    }


def test_implementation_is_every_kernel(editor: Editor, script: str) -> None:
    found = places(ask(editor, "implementation", script, SCRIPT, "torch.mm", 6))
    assert found[0] == MM and any(name == "Blas.cu" for name, _ in found), "CPU before CUDA"
    found = places(ask(editor, "implementation", script, SCRIPT, "x.mul_", 2))
    assert {"BinaryOpsKernel.cpp", "BinaryMulKernel.cu"} <= {name for name, _ in found}


def test_declaration_is_the_schema(editor: Editor, script: str, tree: Path) -> None:
    (place,) = places(ask(editor, "declaration", script, SCRIPT, "torch.matmul", 6))
    assert "func: matmul(" in (tree / YAML).read_text().splitlines()[place[1] - 1]


def test_hover_is_a_card(editor: Editor, script: str) -> None:
    hover = ask(editor, "hover", script, SCRIPT, "torch.mm", 6)
    assert hover["contents"]["kind"] == "markdown"
    text = hover["contents"]["value"]
    assert "aten::mm" in text and "| `CPU` | `mm_out_cpu` |" in text and len(text.splitlines()) <= 25
    candidate = ask(editor, "hover", script, SCRIPT, "w.sigmoid", 2)["contents"]["value"]
    assert "not known" in candidate


def test_references(editor: Editor, script: str) -> None:
    found = places(
        ask(editor, "references", script, SCRIPT, "torch.matmul", 6, context={"includeDeclaration": True})
    )
    assert ("functional.py", 11) in found and ("LinearAlgebra.cpp", 30) in found
    assert ("scratch.py", 11) in found, "the unsaved text counts"
    without = places(
        ask(editor, "references", script, SCRIPT, "torch.matmul", 6, context={"includeDeclaration": False})
    )
    assert len(without) < len(found)


def test_from_yaml(editor: Editor, tree: Path) -> None:
    text = (tree / YAML).read_text()
    uri = editor.open(tree / YAML, language="yaml")
    kernel = places(ask(editor, "definition", uri, text, "MPS: relu_mps", 5))
    assert kernel == [("Unary.mm", place_in(tree, "Unary.mm", "Tensor relu_mps("))]
    assert places(ask(editor, "definition", uri, text, "MPS: relu_mps", 0)) == kernel
    (delegate,) = places(ask(editor, "declaration", uri, text, "structured_delegate: mul.out", 21))
    assert "func: mul.out(" in text.splitlines()[delegate[1] - 1]
    assert places(ask(editor, "definition", uri, text, "tags: [core", 8))[0][0] == "tags.yaml"
    assert ask(editor, "definition", uri, text, "# The operators", 5) is None
    assert ask(editor, "definition", uri, text, "device_check", 3) is None
    links = editor.ask("textDocument/documentLink", {"textDocument": {"uri": uri}})
    assert any(link["tooltip"] == "at::native::relu_mps" for link in links)


def place_in(tree: Path, name: str, text: str) -> int:
    (path,) = tree.rglob(name)
    return next(n for n, line in enumerate(path.read_text().splitlines(), 1) if text in line)


def test_from_derivatives(editor: Editor, tree: Path) -> None:
    path = tree / "tools/autograd/derivatives.yaml"
    text = path.read_text()
    uri = editor.open(path, language="yaml")
    name = next(word for word in ("mul_tensor_backward", "handle_r_to_c", "maybe_multiply") if word in text)
    assert places(ask(editor, "definition", uri, text, f"{name}(", 1))[0][0] == "FunctionsManual.cpp"


def test_from_cpp(editor: Editor, tree: Path) -> None:
    path = tree / NATIVE / "LinearAlgebra.cpp"
    text = path.read_text()
    uri = editor.open(path, language="cpp")
    assert places(ask(editor, "definition", uri, text, "at::matmul(input", 5)) == [MATMUL]
    assert places(ask(editor, "definition", uri, text, "fold_batches(self, other)", 2)) == [
        ("LinearAlgebra.cpp", 14)
    ]
    assert places(ask(editor, "definition", uri, text, "self.mm(other)", 5)) == [MM]
    named = places(ask(editor, "declaration", uri, text, "mm_out_cpu", 3))
    assert [name for name, _ in named] == ["native_functions.yaml"]
    binary = (tree / NATIVE / "BinaryOps.cpp").read_text()
    uri = editor.open(tree / NATIVE / "BinaryOps.cpp", language="cpp")
    kernels = places(ask(editor, "implementation", uri, binary, "mul_stub(device_type", 2))
    assert {name for name, _ in kernels} >= {"BinaryOpsKernel.cpp", "BinaryMulKernel.cu"}


def test_calls_cross_the_languages(editor: Editor, tree: Path) -> None:
    path = tree / NATIVE / "cuda/BinaryMulKernel.cu"
    text = path.read_text()
    uri = editor.open(path, language="cuda")
    (item,) = ask(editor, "prepareCallHierarchy", uri, text, "mul_kernel_cuda", 3)
    (stub,) = editor.ask("callHierarchy/incomingCalls", {"item": item})
    assert stub["from"]["name"].endswith("mul_out") and stub["from"]["detail"] == "stub mul_stub · CUDA"
    above = editor.ask("callHierarchy/incomingCalls", {"item": stub["from"]})
    assert any(
        c["from"]["name"].startswith("aten::mul") and "dispatcher" in c["from"]["detail"] for c in above
    )
    down = editor.ask("callHierarchy/outgoingCalls", {"item": stub["from"]})
    assert "stub mul_stub · CUDA" in [call["to"]["detail"] for call in down]


def test_symbols(editor: Editor, tree: Path) -> None:
    uri = editor.open(tree / NATIVE / "LinearAlgebra.cpp", language="cpp")
    names = [s["name"] for s in editor.ask("textDocument/documentSymbol", {"textDocument": {"uri": uri}})]
    assert "at::native::matmul" in names
    found = editor.ask("workspace/symbol", {"query": "relu"})
    assert found[0]["name"].startswith("aten::relu") and editor.ask("workspace/symbol", {"query": ""}) is None
    assert editor.ask("workspace/symbol", {"query": "no such thing at all"}) is None


def test_types(editor: Editor, tree: Path) -> None:
    text = "class Module:\n    pass\nclass Base(Module):\n    pass\nclass Net(Base):\n    pass\n"
    uri = editor.open(tree / "nets.py", text)
    (base,) = ask(editor, "prepareTypeHierarchy", uri, text, "Base(Module", 1)
    (below,) = editor.ask("typeHierarchy/subtypes", {"item": base})
    (above,) = editor.ask("typeHierarchy/supertypes", {"item": base})
    assert (above["name"], base["name"], below["name"]) == ("nets.Module", "nets.Base", "nets.Net")
    editor.notify("textDocument/didClose", {"textDocument": {"uri": uri}})


def test_the_whole_chain(editor: Editor, script: str) -> None:
    line, character = spot(SCRIPT, "torch.mm", 6)
    place = {"textDocument": {"uri": script}, "position": {"line": line, "character": character}}
    found = editor.ask("torchtalk/trace", {**place, "focus": "dispatch"})
    assert found["subjects"] == ["aten::mm"]
    assert any(item["uri"].endswith("Blas.cu") for item in found["items"])
    of_name = editor.ask("torchtalk/trace", {"name": "torch.matmul"})
    assert of_name["subjects"] == ["aten::matmul"]
    assert of_name["text"].startswith("aten::matmul")
    assert of_name["items"][0]["uri"].startswith(f"file://{of_name['root']}/")
    assert editor.ask("torchtalk/trace", {"name": "no.such.name"}) is None
    assert editor.ask("torchtalk/trace", {"textDocument": 7}) is None


def test_what_is_broken(home: Home, editor: Editor, tree: Path) -> None:
    text = (tree / YAML).read_text()
    uri = editor.open(tree / YAML, text.replace("MPS: relu_mps", "MPS: relu_nowhere"), "yaml")
    report = editor.ask("textDocument/diagnostic", {"textDocument": {"uri": uri}})
    assert [d["message"] for d in report["items"] if "relu_nowhere" in d["message"]]
    editor.edit(uri, {"text": text})
    report = editor.ask("textDocument/diagnostic", {"textDocument": {"uri": uri}})
    assert [d for d in report["items"] if "relu" in d["message"]] == []


def test_a_client_that_does_not_ask_is_told_what_is_broken(home: Home, tree: Path) -> None:
    editor = Editor(home.environ, capabilities=NEOVIM)
    editor.initialize(tree)
    ready(editor)
    text = (tree / YAML).read_text().replace("MPS: relu_mps", "MPS: relu_nowhere")
    uri = editor.open(tree / YAML, text, "yaml")

    def told() -> bool:
        found = [
            n["params"] for n in editor.notifications if n["method"] == "textDocument/publishDiagnostics"
        ]
        return any(
            p["uri"] == uri and any("relu_nowhere" in d["message"] for d in p["diagnostics"]) for p in found
        )

    until(told, "diagnostics")
    assert editor.close() == 0


@pytest.mark.parametrize("way", ["kernels", "yaml"])
def test_settings(home: Home, tree: Path, way: str) -> None:
    capabilities = {**VS_CODE, "workspace": {"configuration": True}}
    features = {"hover": False, "codeLens": True, "inlayHint": True}
    editor = Editor(
        home.environ, capabilities=capabilities, settings={"definition": way, "features": features}
    )
    editor.initialize(tree)
    ready(editor)
    uri = editor.open(tree / "scratch.py", SCRIPT)
    name = {"kernels": "Blas.cu", "yaml": "native_functions.yaml"}[way]
    assert name in [file for file, _ in places(ask(editor, "definition", uri, SCRIPT, "torch.mm", 6))]
    assert ask(editor, "hover", uri, SCRIPT, "torch.mm", 6) is None
    path = tree / NATIVE / "LinearAlgebra.cpp"
    lenses = editor.ask("textDocument/codeLens", {"textDocument": {"uri": editor.open(path, language="cpp")}})
    assert any(lens["command"]["title"].startswith("aten::matmul · Composite") for lens in lenses)
    whole = {"start": {"line": 0, "character": 0}, "end": {"line": 20, "character": 0}}
    hints = editor.ask("textDocument/inlayHint", {"textDocument": {"uri": uri}, "range": whole})
    assert "aten::mm" in "".join(hint["label"] for hint in hints)
    assert editor.close() == 0


@pytest.mark.parametrize("parameters", [{}, {"params": None}, {"params": []}, {"params": [None]}])
def test_the_status_in_every_spelling(editor: Editor, parameters: dict[str, Any]) -> None:
    number = f"{parameters}"
    editor.send(id=number, method="torchtalk/status", **parameters)
    (root,) = editor.wait(number)["result"]["roots"]
    assert root["responsive"]


def test_a_wrong_setting_is_told(home: Home, tree: Path) -> None:
    editor = Editor(
        home.environ, capabilities=VS_CODE, settings={"definition": "nowhere", "features": {"x": 1}}
    )
    editor.initialize(tree)

    def told() -> str:
        return "".join(
            n["params"]["message"] for n in editor.notifications if n["method"] == "window/showMessage"
        )

    until(lambda: "torchtalk.definition" in told() and "features.x" in told(), "a message")
    assert editor.close() == 0


@pytest.mark.parametrize("client", sorted(EDITORS))
def test_every_kind_of_client_jumps(home: Home, tree: Path, client: str) -> None:
    editor = Editor(home.environ, capabilities=EDITORS[client])
    capabilities = editor.initialize(tree)["capabilities"]
    ready(editor)
    uri = editor.open(tree / "scratch.py", SCRIPT)
    found = ask(editor, "definition", uri, SCRIPT, "torch.mm", 6)
    assert places(found) == [MM]
    links = bool(EDITORS[client].get("textDocument", {}).get("definition", {}).get("linkSupport"))
    assert ("targetUri" in found[0]) == links
    hover = ask(editor, "hover", uri, SCRIPT, "torch.mm", 6)
    assert hover["contents"]["kind"] == ("plaintext" if client == "bare" else "markdown")
    assert capabilities["textDocumentSync"]["change"] == 2
    asked = {request["method"] for request in editor.requests}
    if client == "bare":
        assert asked == set(), "no request that the client did not offer to answer"
    assert editor.close() == 0


def test_an_editor_inside_the_tree_and_two_folders(home: Home, tree: Path) -> None:
    other = home.folder / "other"
    if not other.exists():
        _copy(DEMO_TREE, other)
    editor = Editor(home.environ, capabilities=NEOVIM)
    (tree / ".git").mkdir(exist_ok=True)
    editor.initialize(tree / "torch" / "nn", other)
    until(lambda: len(editor.ask("torchtalk/status", {})["roots"]) == 2, "two roots")
    ready(editor)
    for root in (tree, other):
        uri = editor.open(root / "torch" / "scratch2.py", SCRIPT)
        (link,) = ask(editor, "definition", uri, SCRIPT, "torch.mm", 6)
        assert link["targetUri"].startswith(f"file://{root}/aten")
    folder = {"uri": f"file://{other}", "name": "other"}
    editor.notify("workspace/didChangeWorkspaceFolders", {"event": {"added": [], "removed": [folder]}})
    until(lambda: len(editor.ask("torchtalk/status", {})["roots"]) == 1, "one root")
    assert editor.close() == 0


def test_a_text_outside_of_every_root(home: Home, tree: Path) -> None:
    elsewhere = home.folder / "elsewhere"
    elsewhere.mkdir(exist_ok=True)
    editor = Editor(home.environ, "--source", tree, capabilities=NEOVIM)
    editor.initialize(elsewhere)
    ready(editor)
    uri = editor.open(elsewhere / "never_saved.py", SCRIPT)
    assert places(ask(editor, "definition", uri, SCRIPT, "torch.mm", 6)) == [MM]
    assert editor.close() == 0
    alone = Editor(home.environ, capabilities=NEOVIM)
    alone.initialize(elsewhere)
    uri = alone.open(elsewhere / "never_saved.py", SCRIPT)
    assert ask(alone, "definition", uri, SCRIPT, "torch.mm", 6) is None
    assert alone.close() == 0


def test_unsaved_text_is_this_editors_alone(home: Home, tree: Path) -> None:
    first, second = (Editor(home.environ, capabilities=NEOVIM) for _ in range(2))
    path = tree / NATIVE / "Activation.cpp"
    text = path.read_text()
    for editor in (first, second):
        editor.initialize(tree)
        ready(editor)
    uri = first.open(path, language="cpp")
    script = first.open(tree / "scratch.py", SCRIPT)
    start = {"line": 4, "character": 0}
    first.edit(uri, {"range": {"start": start, "end": start}, "text": "// é\n// 𝛼\n\n"})
    assert places(ask(first, "definition", script, SCRIPT, "y.relu", 2)) == [("Activation.cpp", 8)]
    other = second.open(tree / "scratch.py", SCRIPT)
    assert places(ask(second, "definition", other, SCRIPT, "y.relu", 2)) == [("Activation.cpp", 5)]
    line = text.splitlines().index("Tensor relu(const Tensor& self) {") + 3
    rename = {"start": {"line": line, "character": 7}, "end": {"line": line, "character": 11}}
    first.edit(uri, {"range": rename, "text": "relu_renamed"})
    assert ("Activation.cpp", 8) not in places(ask(first, "definition", script, SCRIPT, "y.relu", 2))
    found = first.ask("workspace/symbol", {"query": "relu_renamed"})
    assert [symbol["name"] for symbol in found] == ["at::native::relu_renamed"]
    assert second.ask("workspace/symbol", {"query": "relu_renamed"}) is None
    first.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    assert places(ask(first, "definition", script, SCRIPT, "y.relu", 2)) == [("Activation.cpp", 5)]
    assert first.close() == second.close() == 0
