"""A small tree that lives, in a git repository, and what a perfect watcher would say of it.

What happens to it are the steps of `tests/steps.py`. Each notes the paths that it has touched
(`World.heard`); whoever proves something decides what becomes of them: told, lost, or never
listened to.
"""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tests.conftest import DEMO_TREE
from torchtalkd.changes import NOTHING, ChangeBatch, Why

LANGUAGES: Final = (
    "version.txt",
    "aten/src/ATen/native/BinaryOps.cpp",
    "aten/src/ATen/native/BinaryOps.h",
    "aten/src/ATen/native/DispatchStub.h",
    "aten/src/ATen/native/cpu/BinaryOpsKernel.cpp",
    "aten/src/ATen/native/cuda/BinaryMulKernel.cu",
    "aten/src/ATen/native/mps/operations/Unary.mm",
    "aten/src/ATen/native/native_functions.yaml",
    "aten/src/ATen/native/tags.yaml",
    "tools/autograd/derivatives.yaml",
    "torch/__init__.py",
    "torch/functional.py",
    "torch/nn/functional.py",
    "test/test_ops.py",
)
"""Files of the demonstration tree: one of each language at least."""

MORE: Final = {
    "aten/src/ATen/native/cuda/Loops.cuh": b"__global__ void loop_kernel(float* x) { x[0] = 1; }\n",
    "aten/src/ATen/native/metal/Copy.metal": b"kernel void copy_kernel(device float* x) { x[0] = 1; }\n",
    "build/generated.cpp": b"void generated() {}\n",
    "notes.txt": b"nobody reads this\n",
}

SNIPPETS: Final = (
    b"",
    b"\n",
    b"namespace at::native {\nvoid extra_kernel(int x) { mul_out(x); }\n}\n",
    b'TORCH_LIBRARY_IMPL(aten, CUDA, m) {\n  m.impl("mul.Tensor", TORCH_FN(extra));\n}\n',
    b"#if defined(A)\nvoid half(\n",
    b"REGISTER_DISPATCH(mul_stub, &extra_kernel)\n",
    b"#define MAKE(x) void x##_made() {}\nMAKE(one)\n",
    b"def extra(x):\n    return torch.mul(x, x)\n",
    b"class Half(Base:\n    def f(self):\n",
    b"from torch.nn.functional import *\n",
    b"- func: extra(Tensor self) -> Tensor\n  dispatch:\n    CPU: extra_cpu\n",
    b"  : [ {\n",
    b"<<<<<<< HEAD\nvoid ours();\n=======\nvoid theirs();\n>>>>>>> branch\n",
    b"\xff\xfe\x00\x80 \xed\xa0\x80\n",
)

PLACES: Final = (
    "aten/src/ATen/native/New.cpp",
    "aten/src/ATen/native/cuda/New.cu",
    "torch/new.py",
    "torch/nn/Functional.py",
    "deep/er/and/deeper/new.h",
    "build/new.py",
    "test/new.py",
    "New.metal",
    "notes/new.txt",
    "torchgen/packaged/ATen/native/native_functions.yaml",
)

MANIFESTS: Final = (
    b'format = 1\nextends = "pytorch"\n[files]\nignore = ["torch/nn"]\n',
    b'format = 1\nextends = "pytorch"\n[files]\nmax_bytes = 700\ntests = ["torch"]\n',
    b'format = 1\nextends = "pytorch"\n[cpp]\nblank = ["extra_kernel"]\n',
    b'format = 1\nextends = "py',
)
"""The last one is half-typed."""


class World:
    """A tree in a git repository of two branches, and a folder beside it."""

    def __init__(self, root: Path, aside: Path) -> None:
        self.root = root
        self.aside = aside
        self.told = NOTHING
        """What a perfect watcher would have said since this was last taken."""
        self.shut: set[str] = set()
        """Folders and files that nobody may read at the moment."""
        self.count = 0
        aside.mkdir(exist_ok=True)

    def heard(self, *paths: str, sweep: Why | None = None) -> None:
        """Notes what has been touched."""
        self.told |= ChangeBatch(frozenset(paths), frozenset({sweep} if sweep else ()))

    def take(self) -> ChangeBatch:
        """What was noted, which is thereby told or lost."""
        told, self.told = self.told, NOTHING
        return told

    def walk(self) -> Iterator[tuple[str, list[str], list[str]]]:
        """Each folder with its folders and other names, sorted; without git's."""
        for folder, folders, names in os.walk(self.root):
            folders[:] = sorted(name for name in folders if name != ".git")
            at = os.path.relpath(folder, self.root)
            prefix = "" if at == "." else at.replace(os.sep, "/") + "/"
            yield prefix, folders, sorted(names)

    def files(self) -> list[str]:
        """Plain files."""
        return [
            prefix + name
            for prefix, _, names in self.walk()
            for name in names
            if stat.S_ISREG(os.lstat(self.root / prefix / name).st_mode)
        ]

    def folders(self) -> list[str]:
        """Real folders, without the root."""
        return [
            prefix + name
            for prefix, folders, _ in self.walk()
            for name in folders
            if not (self.root / prefix / name).is_symlink()
        ]

    def file(self, number: int) -> str:
        """One of the files; a new one where there is none."""
        files = self.files()
        if not files:
            self.write("torch/again.py", b"def again(): ...\n")
            return "torch/again.py"
        return files[number % len(files)]

    def read(self, path: str) -> bytes:
        return (self.root / path).read_bytes()

    def write(self, path: str, data: bytes) -> None:
        """In place, with the folders that it needs; nothing where a folder or a file is in the way."""
        whole = self.root / path
        for parent in reversed(Path(path).parents[:-1]):
            if not (self.root / parent).is_dir():
                if os.path.lexists(self.root / parent):
                    return
                (self.root / parent).mkdir()
                self.heard(parent.as_posix())
        if os.path.lexists(whole) and not stat.S_ISREG(os.lstat(whole).st_mode):
            return
        whole.write_bytes(data)
        self.heard(path)

    def move(self, path: str, to: str) -> None:
        """Renames a file or folder, where nothing is in the way."""
        target = self.root / to
        if os.path.lexists(target) or not target.parent.is_dir() or f"{to}/".startswith(f"{path}/"):
            return
        os.rename(self.root / path, target)
        self.heard(path, to)

    def git(self, *words: str) -> None:
        """A git command; what it refuses, it refuses."""
        git(self.root, *words)
        self.heard(sweep="git")

    def open(self) -> None:
        """Lets everything be read again."""
        for path in sorted(self.shut):
            if os.path.lexists(self.root / path):
                os.chmod(self.root / path, 0o755)
                self.heard(path)
        self.shut.clear()


def git(root: Path, *words: str) -> None:
    """A git command; what it refuses, it refuses."""
    _git(root, words, check=False)


def git_said(root: Path, *words: str) -> str:
    """What a git command prints, without the last line break. Raises CalledProcessError."""
    return _git(root, words, check=True).stdout.decode().rstrip("\n")


def _git(root: Path, words: tuple[str, ...], check: bool) -> subprocess.CompletedProcess[bytes]:
    """Reads nobody's configuration and waits for no disk."""
    settings = ("user.name=t", "user.email=t@example.org", "core.fsync=none", "gc.auto=0")
    return subprocess.run(
        ["git", *(word for setting in settings for word in ("-c", setting)), *words],
        cwd=root,
        env={**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=check,
    )


def save_text(whole: Path, data: bytes, style: int) -> None:
    """Saves a text in place (0), by a renamed temporary file (1), by deletion and creation (2), or
    with the former text as a backup beside it and a probe of the folder before (3)."""
    if style == 0:
        whole.write_bytes(data)
    elif style == 1:
        new = whole.with_name(f".{whole.name}.tmp")
        new.write_bytes(data)
        os.replace(new, whole)
    elif style == 2:
        whole.unlink(missing_ok=True)
        whole.write_bytes(data)
    else:
        probe, backup = whole.with_name("4913"), whole.with_name(whole.name + "~")
        probe.touch()
        probe.unlink()
        os.replace(whole, backup)
        whole.write_bytes(data)
        backup.unlink()


def plant(root: Path) -> None:
    """Makes the tree: the branch `main`, and `other`, which has other files, texts and kinds of file."""
    for path in LANGUAGES:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(DEMO_TREE / path, root / path)
    for path, data in MORE.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(data)
    git(root, "init", "-q", "-b", "main")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "one")
    git(root, "checkout", "-qb", "other")
    world = World(root, root.parent)
    for number, path in enumerate(LANGUAGES[1::2]):
        save_text(root / path, SNIPPETS[number % len(SNIPPETS)] + world.read(path), 0)
    world.move("torch/functional.py", "torch/Functional.py")
    (root / "torch/nn/functional.py").unlink()
    world.write("torch/nn/functional.py/now_a_folder.py", b"def inner(): ...\n")
    shutil.rmtree(root / "aten/src/ATen/native/metal")
    world.write("aten/src/ATen/native/metal", b"a file now\n")
    world.write("aten/src/ATen/native/vulkan/ops/Mul.cpp", SNIPPETS[2])
    git(root, "add", "-A")
    git(root, "commit", "-qm", "two")
    git(root, "checkout", "-q", "main")
    git(root, "repack", "-adq")
