"""The command `demo`: the main job, on a small tree that ships with the package."""

from __future__ import annotations

import shutil
import tempfile
from argparse import Namespace
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

from torchtalkd.config import Config
from torchtalkd.frontends.command.opening import asked
from torchtalkd.frontends.counted import counted
from torchtalkd.frontends.text import as_text
from torchtalkd.index import Index
from torchtalkd.queries.trace import trace
from torchtalkd.roots import root_at

SHOWN = "torch.mul"
"""The operator that is traced: a structured one whose kernels stand behind a stub, so that each
layer has something to show."""


def demo(_: Namespace) -> int:
    """Copies the tree to a temporary folder, indexes it there, traces one operator, cleans up."""
    with tempfile.TemporaryDirectory(prefix="torchtalkd-demo-") as temporary:
        tree = Path(temporary).resolve() / "tree"
        copy_tree(resources.files("torchtalkd") / "demo_tree", tree)
        root = root_at(str(tree), None, "--source", cwd=tree, config=Config())
        asked(root, _shown, folder=Path(temporary) / "index")
    print(
        "\nNow a real one:\n"
        "  torchtalkd init --source /path/to/pytorch     # remembers it\n"
        "  torchtalkd index build                        # reads it: well under a minute\n"
        "  torchtalkd trace matmul                       # also F.conv2d, aten::mm, add_, add.out\n"
        "  torchtalkd search softmax --mode kernels"
    )
    return 0


def _shown(index: Index) -> None:
    if built := index.built:
        print(
            f"A small tree, shaped like PyTorch's: {counted(built.files, 'file')} in {built.seconds:.1f} s."
        )
    print(f"\n$ torchtalkd trace {SHOWN}\n")
    print(as_text(trace(index.view, SHOWN)))


def copy_tree(source: Traversable, target: Path) -> None:
    """Copies a folder of package data, which may be read-only or in an archive, to ordinary files."""
    target.mkdir(parents=True)
    for item in source.iterdir():
        if item.is_dir():
            if item.name != "__pycache__":
                copy_tree(item, target / item.name)
        else:
            with item.open("rb") as opened, (target / item.name).open("wb") as copy:
                shutil.copyfileobj(opened, copy)
