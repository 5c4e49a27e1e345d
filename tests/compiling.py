"""A small tree that looks like PyTorch's and has a generator of its own, for tests of what is compiled."""

from __future__ import annotations

from pathlib import Path
from typing import Final

_MAIN: Final = """
import argparse, pathlib
import yaml
parser = argparse.ArgumentParser()
for flag in {flags}:
    parser.add_argument(flag)
options, _ = parser.parse_known_args()
out = pathlib.Path({out})
for name in {names}:
    (out / name).parent.mkdir(parents=True, exist_ok=True)
    (out / name).write_text("#pragma once\\n")
"""
FILES: Final = {
    "aten/src/ATen/native/native_functions.yaml": "- func: add(Tensor self) -> Tensor\n",
    "aten/src/ATen/native/tags.yaml": "[]\n",
    "aten/src/ATen/templates/Functions.h": "#pragma once\n",
    "aten/src/ATen/Config.h.in": "#define AT_MKL_ENABLED() @AT_MKL_ENABLED@\n",
    "aten/src/ATen/native/Add.cpp": (
        '#include <ATen/Functions.h>\n#include <ATen/Config.h>\n#include "fmt/format.h"\n'
    ),
    "aten/src/ATen/native/Mul.cpp": "#include <ATen/Sub.h>\n#include <nowhere.h>\n",
    "aten/src/ATen/native/cpu/AddKernel.cpp": "#include <ATen/Sub.h>\n",
    "aten/src/ATen/native/metal.mm": "",
    "aten/src/ATen/Sub.h": "#pragma once\n#include <fmt/core.h>\n",
    "torchgen/__init__.py": "",
    "torchgen/gen.py": _MAIN.format(
        flags=["--source-path", "--install_dir"],
        out="options.install_dir",
        names=["Functions.h", "core/TensorBody.h", "ops/add.h"],
    ),
    "tools/__init__.py": "",
    "tools/setup_helpers/__init__.py": "",
    "tools/autograd/__init__.py": "",
    "tools/setup_helpers/generate_code.py": _MAIN.format(
        flags=["--gen-dir"],
        out="options.gen_dir",
        names=["torch/csrc/autograd/generated/variable_factories.h"],
    ),
    "version.txt": "2.6.0a0\n",
}


def compiled_tree(folder: Path) -> Path:
    """Writes the tree below a folder; its top."""
    for path, text in FILES.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder.resolve()
