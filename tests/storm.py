"""Two commits that differ in many files, for trees that are switched back and forth while somebody asks.

    python -m tests.storm TREE [--files 2000]

makes them in TREE, a git repository (a copy: its branch is left at the second of them), and prints both.
What one of them does to a file is what people do: functions renamed, lines added and taken out,
entries of the yaml files added, dropped and moved, files deleted and added.
"""

from __future__ import annotations

import argparse
import random
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

from tests.histories import git, git_said

SUFFIXES: Final = frozenset({".py", ".cpp", ".h", ".cu", ".cuh", ".mm", ".metal"})
YAML: Final = ("native_functions.yaml", "derivatives.yaml", "tags.yaml")
_PYTHON_NAME: Final = re.compile(rb"^ *def ([a-z]\w{3,})\(", re.MULTILINE)
_CPP_NAME: Final = re.compile(rb"^[\w:<>,*& ]+[ &*]([a-z]\w{3,})\([^;{]*\{", re.MULTILINE)


class Commits(NamedTuple):
    """Two commits of one repository."""

    before: str
    after: str
    files: int
    """In which they differ."""


def make_commits(root: Path, count: int, *, always: Iterable[str] = (), seed: int = 7) -> Commits:
    """Commits what is there, and upon it edits of `count` files, those of `always` and the operators'
    yaml files among them. The tree is left at the second commit."""
    chance = random.Random(seed)
    if not (root / ".git").exists():
        git(root, "init", "-q", "-b", "main")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "before", "--allow-empty")
    before = git_said(root, "rev-parse", "HEAD")
    files = [path for path in git_said(root, "ls-files").split("\n") if Path(path).suffix in SUFFIXES]
    yaml = [path for path in git_said(root, "ls-files").split("\n") if path.endswith(YAML)]
    chosen = {path: None for path in (*always, *yaml) if (root / path).is_file()}
    others = [path for path in files if path not in chosen and not (root / path).is_symlink()]
    for path in chosen:
        edit(root / path, chance)
    for number, path in enumerate(chance.sample(others, max(0, count - len(chosen)))):
        whole = root / path
        if number % 25 == 0:
            whole.unlink()
        elif number % 25 == 1:
            whole.with_name(f"added_{whole.name}").write_bytes(whole.read_bytes())
        else:
            edit(whole, chance)
    git(root, "add", "-A")
    git(root, "commit", "-qm", "after")
    differing = git_said(root, "diff", "--name-only", "--no-renames", before, "HEAD").split("\n")
    return Commits(before, git_said(root, "rev-parse", "HEAD"), len(differing))


def edit(path: Path, chance: random.Random) -> None:
    """Changes a text so that it still is one of its language."""
    data = path.read_bytes()
    if path.suffix == ".yaml":
        path.write_bytes(_edited_yaml(data, chance))
        return
    names = sorted(set((_PYTHON_NAME if path.suffix == ".py" else _CPP_NAME).findall(data)))
    for name in chance.sample(names, min(len(names), 1 + len(names) // 4)):
        data = re.sub(rb"\b" + name + rb"\b", name + b"_b", data)
    lines = data.splitlines(keepends=True)
    # A blank line ends no function; between two of them nothing hangs together.
    blank = [n for n, line in enumerate(lines) if not line.strip()]
    for at in sorted(chance.sample(blank, len(blank) // 8), reverse=True):
        del lines[at]
    mark = b"#" if path.suffix == ".py" else b"//"
    top = [mark + b" moved on\n"] * chance.randint(1, 9)
    first = int(bool(lines) and lines[0].startswith(b"#!"))
    path.write_bytes(b"".join([*lines[:first], *top, *lines[first:]]))


def _edited_yaml(data: bytes, chance: random.Random) -> bytes:
    head, *entries = re.split(rb"(?m)^(?=- )", data)
    if not entries:
        return data
    kept = [entry for entry in entries if chance.random() > 0.02]
    for _ in range(max(1, len(entries) // 50)):
        at, to = chance.randrange(len(kept)), chance.randrange(len(kept))
        kept.insert(to, kept.pop(at))
    if b"\n- func: " in data:
        for number in range(max(1, len(entries) // 50)):
            new = b"- func: storm_%d(Tensor self) -> Tensor\n  dispatch:\n    CPU: storm_cpu\n\n" % number
            kept.insert(chance.randrange(len(kept)), new)
    return head + b"".join(kept)


def grow(root: Path, operators: int) -> None:
    """Adds a family of made-up operators to the demonstration tree: with a schema, a stub, kernels for
    two devices, a function in Python and a test."""
    native = root / "aten/src/ATen/native"
    entries = []
    for n in range(operators):
        entries.append(
            f"- func: wave{n}(Tensor self, Tensor other) -> Tensor\n"
            f"  variants: function, method\n  dispatch:\n    CPU: wave{n}_cpu\n    CUDA: wave{n}_cuda\n\n"
        )
        _new(
            native / "gen" / f"Wave{n}.cpp",
            "#include <ATen/native/DispatchStub.h>\n\nnamespace at::native {\n\n"
            f"DEFINE_DISPATCH(wave{n}_stub);\n\n"
            f"static Tensor wave{n}_inner(const Tensor& self) {{\n  return self;\n}}\n\n"
            f"Tensor wave{n}_cpu(const Tensor& self, const Tensor& other) {{\n"
            f"  wave{n}_stub(kCPU, self);\n  return wave{n}_inner(self);\n}}\n\n}} // namespace at::native\n",
        )
        _new(
            native / "cuda" / f"Wave{n}.cu",
            f"namespace at::native {{\n\n__global__ void wave{n}_device(float* x) {{\n  x[0] = 1;\n}}\n\n"
            f"Tensor wave{n}_cuda(const Tensor& self, const Tensor& other) {{\n"
            f"  wave{n}_device<<<1, 1>>>(nullptr);\n  return self;\n}}\n\n}} // namespace at::native\n",
        )
        _new(
            root / "torch" / "waves" / f"wave{n}.py",
            f"import torch\n\n\ndef wave{n}_twice(x, y):\n    return torch.wave{n}(x, torch.wave{n}(x, y))\n",
        )
    with (native / "native_functions.yaml").open("a", encoding="utf-8") as file:
        file.write("\n" + "".join(entries))


def _new(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


def main() -> None:
    """Makes the commits and prints them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("tree", type=lambda text: Path(text).resolve())
    parser.add_argument("--files", type=int, default=2000)
    given = parser.parse_args()
    print(*make_commits(given.tree, given.files))


if __name__ == "__main__":
    main()
