"""How long an editor waits, over the real bridge and daemon.

    python -m tests.bench.lsp TREE [--rounds 40]

TREE is a PyTorch checkout that is indexed already. Prints one line for each request: median, 95th
percentile, and what is promised. Each round asks at another place of another file, as a reader does.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from tests.bench.positions import ready
from tests.conftest import REPOSITORY
from tests.editors import NEOVIM, VS_CODE, Editor, spot

TYPED_AT = {"line": 60, "character": 0}
TABLE = Path(__file__).with_name("positions.tsv")
QUERIES = ("mm", "layer_norm", "at::native::add", "softmax", "conv2d", "gelu_out", "Linear", "TORCH_CHECK")
LONG = (
    ("native_functions.yaml", "aten/src/ATen/native/native_functions.yaml", r"- func: (mm)\(", "#"),
    ("7,000 lines of C++", "torch/csrc/autograd/FunctionsManual.cpp", r"^Tensor (\w+_backward)\(", " "),
)
"""What is typed in: a name for it, the file, what is asked about below, a letter that changes nothing."""


def timed(work: Callable[[], Any]) -> float:
    """Milliseconds."""
    begun = time.perf_counter()
    work()
    return (time.perf_counter() - begun) * 1000


def report(name: str, times: list[float], promised: float) -> bool:
    """Prints a line; whether it is kept."""
    ordered = sorted(times)
    last = ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))]
    kept = "" if last <= promised else "  TOO SLOW"
    print(f"{name:34} {statistics.median(times):8.1f} {last:8.1f} {promised:8.0f}{kept}", flush=True)
    return not kept


def main() -> int:
    """Measures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("tree", type=Path)
    parser.add_argument("--rounds", type=int, default=40)
    arguments = parser.parse_args()
    root = arguments.tree.resolve()
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    print(f"{'milliseconds':34} {'median':>8} {'p95':>8} {'promise':>8}")
    kept = [start(root, environment)]
    editor = Editor(environment, capabilities=NEOVIM)
    editor.initialize(root)
    ready(editor)
    kept.extend(requests(editor, root, arguments.rounds))
    kept.extend(keystrokes(editor, root, arguments.rounds))
    editor.close()
    return 0 if all(kept) else 1


def start(root: Path, environment: dict[str, str]) -> bool:
    """From nothing, then with the daemon there."""

    def begin() -> None:
        editor = Editor(environment, capabilities=VS_CODE)
        editor.initialize(root)
        editor.kill()

    cold = []
    stop = [sys.executable, "-m", "torchtalkd", "stop"]
    for _ in range(3):
        subprocess.run(stop, env=environment, capture_output=True, check=False)
        cold.append(timed(begin))
    first = report("initialize, from nothing", cold, 1200)
    return report("initialize, daemon running", [timed(begin) for _ in range(8)], 100) and first


def requests(editor: Editor, root: Path, rounds: int) -> list[bool]:
    """Each request at places that a reader comes to."""
    rows = [row.split("\t") for row in TABLE.read_text("utf-8").splitlines()]
    places = [row[3] for row in rows if row[1] == root.name][:: max(1, 150 // rounds)][:rounds]
    found = []
    for request, promised in (("definition", 20), ("implementation", 20), ("hover", 30)):
        times = []
        for place in places:
            path, line, column = place.rsplit(":", 2)
            language = {".py": "python", ".yaml": "yaml"}.get(Path(path).suffix, "cpp")
            uri = editor.open(root / path, language=language)
            editor.at("hover", uri, 0, 0)  # the text has arrived
            asked = partial(editor.at, request, uri, int(line) - 1, int(column) - 1)
            times.append(timed(asked))
            editor.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
        found.append(report(request, times[3:], promised))
    times = [timed(partial(editor.ask, "workspace/symbol", {"query": query})) for query in QUERIES * 2]
    found.append(report("workspace symbol", times[1:], 50))
    path = "aten/src/ATen/native/LinearAlgebra.cpp"
    uri = editor.open(root / path, language="cpp")
    line, column = spot((root / path).read_text("utf-8"), "TORCH_CHECK(", 3)
    context = {"context": {"includeDeclaration": False}}
    times = [timed(partial(editor.at, "references", uri, line, column, **context)) for _ in range(8)]
    found.append(report("references of TORCH_CHECK", times[1:], 100))
    editor.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    return found


def keystrokes(editor: Editor, root: Path, rounds: int) -> list[bool]:
    """A letter or line typed, until a position far below it is answered as it stands then."""
    found = []
    for name, path, pattern, letter in LONG:
        text = (root / path).read_text("utf-8")
        match = list(re.finditer(pattern, text, re.MULTILINE))[-1]
        line, column = spot(text[: match.end(1)] + "\0", "\0")
        uri = editor.open(root / path, language="yaml" if path.endswith(".yaml") else "cpp")
        editor.at("hover", uri, line, column)
        times = []
        for number in range(rounds):
            typed = "\n" if number % 4 == 3 else letter
            line += typed == "\n"

            def stroke(typed: str = typed, uri: str = uri, line: int = line, column: int = column) -> None:
                editor.edit(uri, {"range": {"start": TYPED_AT, "end": TYPED_AT}, "text": typed})
                answer = editor.at("hover", uri, line, column)
                assert answer is not None and answer["range"]["start"]["line"] == line

            times.append(timed(stroke))
        found.append(report(f"keystroke, {name}", times[1:], 30))
        editor.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    return found


if __name__ == "__main__":
    sys.exit(main())
