"""Finds cursor positions with their right targets in the trees, by regular expressions alone.

    python -m tests.bench.find_positions TREES > tests/bench/positions.tsv

Nothing of the program is imported: what is found here is what a person with `grep` would call right.
Only names that one definition of the tree can be meant by are taken; what is left out is harder, and
`positions.py` says how much of what is here is answered rightly. Columns of the table: kind, tree,
request, place (`file:line:column`, from 1), the line there, targets (`file:line`, or `-` for none).
"""

from __future__ import annotations

import random
import re
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

SEED = 7
ROW = tuple[str, str, str, str, str, str]
HEAD = r"^(?!\s|return\b|#|//|static_assert|REGISTER|else\b|using\b)[^;\n=]*?\b"


class Tree:
    """A source tree as text."""

    def __init__(self, root: Path, *globs: str) -> None:
        self.name, self.root = root.name, root
        self.files = {
            str(path.relative_to(root)): path.read_text("utf-8", "replace")
            for glob in globs
            for path in sorted(root.glob(glob))
            if path.is_file() and "third_party" not in path.parts
        }

    def found(self, pattern: str, within: str = "") -> Iterator[tuple[str, re.Match[str]]]:
        """Matches, by file."""
        compiled = re.compile(pattern, re.MULTILINE)
        for path, text in self.files.items():
            if path.startswith(within):
                yield from ((path, match) for match in compiled.finditer(text))

    def place(self, path: str, at: int) -> tuple[int, int]:
        """Line and column, from 1."""
        text = self.files[path]
        return text.count("\n", 0, at) + 1, at - (text.rfind("\n", 0, at) + 1) + 1

    def row(self, kind: str, request: str, path: str, at: int, targets: list[str]) -> ROW:
        """A line of the table."""
        line, column = self.place(path, at)
        text = self.files[path].split("\n")[line - 1].strip().replace("\t", " ")[:90]
        return kind, self.name, request, f"{path}:{line}:{column}", text, " ".join(targets) or "-"


def functions(tree: Tree, within: str = "aten/src/ATen/native") -> dict[str, list[str]]:
    """C++ functions with a body that begin a line: name → places of the name."""
    found: dict[str, list[str]] = {}
    head = re.compile(
        HEAD + r"(\w+)\((?=[^;{]*\{)|^(?:static\s+)?(?:inline\s+)?TORCH_IMPL_FUNC\((\w+)\)", re.MULTILINE
    )
    for path, text in tree.files.items():
        if not path.startswith(within) or not path.endswith((".cpp", ".cu", ".mm", ".h", ".cuh")):
            continue
        for match in head.finditer(text):
            group = 1 if match[1] else 2
            line, _ = tree.place(path, match.start(group))
            found.setdefault(match[group], []).append(f"{path}:{line}")
    return found


@cache
def entries(tree: Tree) -> list[dict[str, str]]:
    """The entries of native_functions.yaml: name, line, and the text of the fields."""
    path = "aten/src/ATen/native/native_functions.yaml"
    text = tree.files[path]
    found = []
    for match in re.finditer(r"^- func: ([\w.]+)\((.*)\n((?:(?:  .*|#.*)?\n)*)", text, re.MULTILINE):
        line, _ = tree.place(path, match.start(1))
        found.append({"name": match[1], "schema": match[2], "body": match[3], "place": f"{path}:{line}"})
    return found


def composites(tree: Tree, known: dict[str, list[str]]) -> dict[str, tuple[str, str]]:
    """Operators of one overload without dispatch, whose function is defined once: (schema's place, function's)."""
    listed = entries(tree)
    bases = [entry["name"].partition(".")[0] for entry in listed]
    found = {}
    for entry in listed:
        base = entry["name"].partition(".")[0]
        plain = (
            "dispatch:" not in entry["body"] and "delegate" not in entry["body"] and "." not in entry["name"]
        )
        others = [e for e in listed if e["name"].startswith(base + ".") and not e["name"].endswith("out")]
        places = known.get(base, []) + known.get(f"{base}_symint", [])
        if plain and not others and len(places) == 1 and bases.count(base) <= 2:
            found[base] = (entry["place"], places[0])
    return found


def pytorch(tree: Tree, pick: random.Random) -> Iterator[ROW]:
    """Positions in PyTorch."""
    known = functions(tree)
    whole = composites(tree, known)
    public = {
        e["name"]
        for e in entries(tree)
        if "variants: method" not in e["body"] and "python_module" not in e["body"]
    }
    methods = {e["name"] for e in entries(tree) if re.search(r"variants:.*method", e["body"])}
    wrapped = {m[1] for _, m in tree.found(r"^def (\w+)\(", "torch/functional.py")}
    wrapped |= {m[1] for _, m in tree.found(r"^def (\w+)\(", "torch/__init__.py")}

    rows = []
    for path, match in tree.found(r"(?<![\w.\"'`])torch\.(\w+)\((?!\))", "torch/"):
        name = match[1]
        line = tree.files[path].split("\n")[tree.place(path, match.start())[0] - 1]
        code = path.endswith(".py") and not re.search(r"[#'\"`>]|\.\. |def ", line) and "_docs" not in path
        imported = re.search(r"^import torch$", tree.files[path], re.MULTILINE)
        if code and imported and name in whole and name in public and name not in wrapped:
            rows.append((name, path, match.start(1)))
    for name, path, at in one_of_each(rows, pick, 25):
        yield tree.row("python function", "definition", path, at, [whole[name][1]])
    for name, path, at in one_of_each(rows, pick, 12):
        yield tree.row("python function", "declaration", path, at, [whole[name][0]])

    classes = once(tree, r"^class (\w+)\(", "torch/nn/modules/")
    rows = [
        (m[1], path, m.start(1))
        for path, m in tree.found(r"^(?:(?!#).)*[^\w.\"'`]nn\.([A-Z]\w+)\(", "torch/")
        if path.endswith(".py") and m[1] in classes and re.search(r"^(?:import torch\.nn as nn|from torch import nn)$", tree.files[path], re.MULTILINE)
        and not re.search(r"[>`\"']", m[0])
    ]  # fmt: skip
    for name, path, at in one_of_each(rows, pick, 12):
        yield tree.row("module class", "definition", path, at, [classes[name]])

    explicit = {
        entry["name"]: known[m[1]][0]
        for entry in entries(tree)
        if (m := re.search(r"^    CompositeExplicitAutograd(?:, \w+)*: (\w+)$", entry["body"], re.MULTILINE))
        and len(known.get(m[1], [])) == 1
    }
    packets = Counter(entry["name"].partition(".")[0] for entry in entries(tree))
    explicit |= {name: place for name, (_, place) in whole.items()}
    rows = []
    for path, match in tree.found(
        r"^( *)def \w+\(([^)]*: (?:torch\.)?Tensor[^)]*)\)[^:\n]*:.*\n((?:\1 .*\n|\n)*)", "torch/"
    ):
        for tensor in re.findall(r"(\w+): (?:torch\.)?Tensor\b", match[2]):
            for call in re.finditer(rf"(?<![\w.]){tensor}\.(\w+)\(", match[3]):
                before = match[3][: call.start()]
                line = before.rpartition("\n")[2]
                set_before = re.search(
                    rf"\b{tensor}\b[^\n(]*(?<![=!<>])=(?!=)|for [^\n]*\b{tensor}\b", before
                )
                quiet = (
                    not set_before
                    and before.count('"""') % 2 == 0
                    and "#" not in line
                    and "lambda" not in line
                )
                inner = re.search(r"^ +(?:def|class) ", before, re.MULTILINE)
                alone = packets[call[1]] == 1
                if quiet and not inner and alone and call[1] in explicit and call[1] in methods:
                    rows.append((call[1], path, match.start(3) + call.start(1)))
    for name, path, at in one_of_each(rows, pick, 8):
        yield tree.row("tensor method", "definition", path, at, [explicit[name]])

    yaml = "aten/src/ATen/native/native_functions.yaml"
    impls: dict[str, list[str]] = {}
    for path, match in tree.found(r"^TORCH_IMPL_FUNC\((\w+)\)", "aten/src/ATen/native/"):
        impls.setdefault(match[1], []).append(f"{path}:{tree.place(path, match.start(1))[0]}")
    rows, by_key = [], []
    for entry in entries(tree):
        begin = tree.files[yaml].index(f"- func: {entry['name']}(")
        for match in re.finditer(r"^    ([\w, ]+): (\w+)$", entry["body"], re.MULTILINE):
            # A structured entry's kernel is an impl; a function may be called the same.
            places = (impls if "structured: True" in entry["body"] else known).get(match[2], [])
            if len(places) == 1 and "ufunc" not in entry["body"]:
                at = tree.files[yaml].index(entry["body"], begin)
                rows.append((match[2], yaml, at + match.start(2), places))
                by_key.append((match[2], yaml, at + match.start(1), places))
    for _, path, at, places in pick.sample(rows, 14):
        yield tree.row("yaml kernel", "definition", path, at, places)
    for _, path, at, places in pick.sample(by_key, 8):
        yield tree.row("yaml dispatch key", "definition", path, at, places)
    for path, match in pick.sample(list(tree.found(r"^  structured_delegate: ([\w.]+)$", yaml)), 8):
        place = next(e["place"] for e in entries(tree) if e["name"] == match[1])
        yield tree.row("structured delegate", "definition", path, match.start(1), [place])
    tags = once(tree, r"^- tag: (\w+)$", "aten/src/ATen/native/tags.yaml")
    for path, match in pick.sample(list(tree.found(r"^  tags: \[?(\w+)", yaml)), 5):
        yield tree.row("tag", "definition", path, match.start(1), [tags[match[1]]])
    rows = [(base, yaml, tree.files[yaml].index(f"- func: {base}(") + 8) for base in whole]
    for name, path, at in one_of_each(rows, pick, 8):
        yield tree.row("yaml operator", "definition", path, at, [whole[name][1]])
    manual = functions(tree, "torch/csrc/autograd/FunctionsManual.cpp")
    rows = [
        (m[1], path, m.start(1))
        for path, m in tree.found(
            r"^  [\w, ]+: .*?\b(\w+_(?:backward|jvp|vjp))\(", "tools/autograd/derivatives.yaml"
        )
        if len(manual.get(m[1], [])) == 1 and m[1] not in {e["name"].partition(".")[0] for e in entries(tree)}
    ]
    for name, path, at in one_of_each(rows, pick, 10):
        yield tree.row("formula function", "definition", path, at, manual[name])

    rows = [
        (m[1], path, m.start(1))
        for path, m in tree.found(r"^(?:(?!//|\"|#).)*[^\w:]at::(\w+)\(", "aten/src/ATen/native/")
        if m[1] in whole and path.endswith((".cpp", ".cu"))
    ]
    for name, path, at in one_of_each(rows, pick, 14):
        yield tree.row("C++ operator", "definition", path, at, [whole[name][1]])
    stubs = once(tree, r"^DEFINE_DISPATCH\((\w+)\)", "aten/src/ATen/native/")
    rows = [
        (m[1], path, m.start(1))
        for path, m in tree.found(r"^\s+(\w+_stub)\(", "aten/src/ATen/native/")
        if m[1] in stubs and path.endswith(".cpp")
    ]
    for name, path, at in one_of_each(rows, pick, 8):
        yield tree.row("stub", "definition", path, at, [stubs[name]])
    named = []
    for path, match in tree.found(r"^TORCH_IMPL_FUNC\((\w+)\)", "aten/src/ATen/native/"):
        lines = [
            tree.place(yaml, m.start(1))[0]
            for m in re.finditer(rf"^    [\w, ]+: ({match[1]})$", tree.files[yaml], re.MULTILINE)
        ]
        if len(lines) == 1:
            named.append((match[1], path, match.start(1), [f"{yaml}:{lines[0]}"]))
    for _, path, at, places in pick.sample(named, 8):
        yield tree.row("structured kernel", "declaration", path, at, places)
    rows = [
        (m[1], path, m.start(1))
        for path, m in tree.found(r"^  KERNEL_\w+\((\w+),", "aten/src/ATen/autocast_mode.cpp")
        if m[1] in whole
    ]
    for name, path, at in one_of_each(rows, pick, 6):
        yield tree.row("macro argument", "definition", path, at, [whole[name][1]])
    own = [
        (name, places[0])
        for name, places in known.items()
        if len(places) == 1 and name.endswith(("_helper", "_impl_cpu", "_template")) and name.islower()
    ]
    rows = []
    for name, place in own:
        path = place.rpartition(":")[0]
        for match in re.finditer(rf"^(?:\s+|\s+return ){name}\(", tree.files[path], re.MULTILINE):
            rows.append((name, path, match.end() - len(name) - 1, place))
    for _, path, at, place in pick.sample(rows, min(10, len(rows))):
        yield tree.row("C++ function", "definition", path, at, [place])

    for path, match in pick.sample(list(tree.found(r"^    # \w+ (\w{5,}) ", "torch/nn/")), 4):
        yield tree.row("comment", "definition", path, match.start(1), [])
    for path, match in pick.sample(list(tree.found(r"^    (\w{4,}) = \w+\(", "torch/nn/utils")), 4):
        yield tree.row("local variable", "definition", path, match.start(1), [])
    for path, match in pick.sample(list(tree.found(r"^  device_(check): ", yaml)), 3):
        yield tree.row("yaml field", "definition", path, match.start(1), [])
    for path, match in pick.sample(
        list(tree.found(r"^ +(?:int64_t|bool) (\w{3,}) = ", "aten/src/ATen/native/cuda")), 4
    ):
        yield tree.row("C++ variable", "definition", path, match.start(1), [])


def vision(tree: Tree, pick: random.Random) -> Iterator[ROW]:
    """Positions in torchvision."""
    order = ("cpu", "cuda", "mps")
    registered: dict[str, dict[str, str]] = {}
    for path, match in tree.found(
        r'm\.impl\(\s*TORCH_SELECTIVE_NAME\("torchvision::(\w+)"\),\s*TORCH_FN\((\w+)\)',
        "torchvision/csrc/ops/c",
    ):
        line = next(
            tree.place(path, m.start(1))[0]
            for m in re.finditer(
                rf"^(?!\s)[^;]*?\b({match[2]})\((?=[^;{{]*\{{)", tree.files[path], re.MULTILINE
            )
        )
        registered.setdefault(match[1], {})[path.split("/")[3]] = f"{path}:{line}"
    rows = [
        (m[1], path, m.start(1))
        for path, m in tree.found(r"torch\.ops\.torchvision\.(\w+)\(", "torchvision/")
        if m[1] in registered
    ]
    for name, path, at in rows[:12]:
        places = registered[name]
        yield tree.row("torch.ops", "definition", path, at, [next(places[k] for k in order if k in places)])
    strings = [
        (m[1], path, m.start(1))
        for path, m in tree.found(r'TORCH_SELECTIVE_NAME\("torchvision::(\w+)"', "torchvision/csrc/ops/c")
        if m[1] in registered
    ]
    for name, path, at in pick.sample(strings, 8):
        places = registered[name]
        yield tree.row(
            "registration string", "definition", path, at, [next(places[k] for k in order if k in places)]
        )
    targets = list(
        tree.found(
            r'TORCH_SELECTIVE_NAME\("torchvision::(\w+)"\),\s*TORCH_FN\((\w+)\)', "torchvision/csrc/ops/c"
        )
    )
    for path, match in pick.sample([t for t in targets if t[1][1] in registered], 8):
        yield tree.row(
            "registered function",
            "definition",
            path,
            match.start(2),
            [registered[match[1]][path.split("/")[3]]],
        )


def vllm(tree: Tree, pick: random.Random) -> Iterator[ROW]:
    """Positions in vLLM."""
    known = functions(tree, "csrc/")
    text = "".join(text for path, text in tree.files.items() if path.startswith("csrc/"))
    bound = re.findall(
        r'ops\.impl\(\s*"(\w+)",\s*(?:torch::kCUDA, &|TORCH_BOX\(&)(\w+)\)',
        tree.files["csrc/torch_bindings.cpp"],
    )
    good = {
        name: known[function][0]
        for name, function in bound
        if len(known.get(function, [])) == 1 and len(re.findall(rf'\.impl\(\s*"{name}"', text)) == 1
    }
    rows = [
        (m[1], path, m.start(1))
        for path, m in tree.found(r"torch\.ops\._C\.(\w+)\(", "vllm/")
        if m[1] in good and re.search(r"^import torch$", tree.files[path], re.MULTILINE)
    ]
    for name, path, at in one_of_each(rows, pick, 24):
        yield tree.row("torch.ops", "definition", path, at, [good[name]])
    strings = [
        (m[1], path, m.start(1))
        for path, m in tree.found(r'^  ops\.impl\(\s*"(\w+)"', "csrc/torch_bindings.cpp")
        if m[1] in good
    ]
    for name, path, at in one_of_each(strings, pick, 8):
        yield tree.row("registration string", "definition", path, at, [good[name]])


def once(tree: Tree, pattern: str, within: str) -> dict[str, str]:
    """What a pattern names exactly once below a folder: name → place."""
    found: dict[str, list[str]] = {}
    for path, match in tree.found(pattern, within):
        found.setdefault(match[1], []).append(f"{path}:{tree.place(path, match.start(1))[0]}")
    return {name: places[0] for name, places in found.items() if len(places) == 1}


def one_of_each(
    rows: list[tuple[str, str, int]], pick: random.Random, most: int
) -> list[tuple[str, str, int]]:
    """Some rows, each of another name."""
    shuffled = rows[:]
    pick.shuffle(shuffled)
    return list({row[0]: row for row in shuffled}.values())[:most]


def main() -> None:
    """Prints the table."""
    trees, pick = Path(sys.argv[1]), random.Random(SEED)
    native = (
        "aten/src/ATen/**/*.cpp",
        "aten/src/ATen/**/*.cu",
        "aten/src/ATen/**/*.mm",
        "aten/src/ATen/**/*.h",
        "aten/src/ATen/**/*.cuh",
    )
    parts = (
        (pytorch, Tree(trees / "pytorch", *native, "torch/**/*.py", "aten/src/ATen/native/*.yaml", "tools/autograd/*.yaml", "torch/csrc/autograd/*.cpp")),
        (vision, Tree(trees / "vision", "torchvision/**/*.py", "torchvision/csrc/**/*.cpp", "torchvision/csrc/**/*.cu", "torchvision/csrc/**/*.mm")),
        (vllm, Tree(trees / "vllm", "vllm/**/*.py", "csrc/**/*.cpp", "csrc/**/*.cu", "csrc/**/*.cuh", "csrc/**/*.h")),
    )  # fmt: skip
    for find, tree in parts:
        for row in find(tree, pick):
            print("\t".join(row))


if __name__ == "__main__":
    main()
