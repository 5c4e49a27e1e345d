"""External references: what counts as an edge, how many there are, how they join the framework's index."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.facts_view import harness, view_of, view_of_sources
from torchtalkd.frontends.text import as_text
from torchtalkd.parse import parse
from torchtalkd.queries.answers import as_json
from torchtalkd.queries.external import Place, edges, external, external_items, place_in
from torchtalkd.queries.search import search
from torchtalkd.queries.status import status
from torchtalkd.store.view import View

SOURCES = {
    "pack/a.py": "import torch\nimport torch\nimport torch.nn as nn\nfrom torch import nn as n2, Tensor\n"
    "import torchvision\nimport os\n"
    "def f(x):\n    from torch.nn import functional as F\n    F.relu(x)\n    F.relu(x)\n"
    "    torch.add(x, x)\n",
    "pack/b.py": "from torch.utils.cpp_extension import *\nfrom .a import f\nclass M(nn.Module): pass\n",
    "pack/c.py": "import numpy as torch_like\nimport torchy\n",
    "tests/test_a.py": "import torch\nfrom torch import nn\n",
    "csrc/a.cpp": "#include <torch/library.h>\n#include <ATen/ATen.h>\n#include <vector>\n"
    "at::Tensor f(const at::Tensor& x) { std::move(x); return at::empty_like(x); }\n",
}


@pytest.fixture
def view() -> View:
    return view_of_sources(SOURCES, "vllm")


def test_an_import_is_one_edge_for_a_file_and_a_name(view: View) -> None:
    imports = sorted((e.file.path, e.name, e.places) for e in edges(view) if e.sort == "import")
    assert imports == [
        ("pack/a.py", "torch", 2),
        ("pack/a.py", "torch.Tensor", 1),
        ("pack/a.py", "torch.nn", 2),
        ("pack/a.py", "torch.nn.functional", 1),
        ("pack/b.py", "torch.utils.cpp_extension", 1),
        ("tests/test_a.py", "torch", 1),
        ("tests/test_a.py", "torch.nn", 1),
    ]


def test_includes_and_uses_are_counted_apart(view: View) -> None:
    said = {(e.sort, e.file.path, e.name) for e in edges(view) if e.sort != "import"}
    assert ("include", "csrc/a.cpp", "torch/library.h") in said
    assert ("include", "csrc/a.cpp", "ATen/ATen.h") in said
    assert ("use", "csrc/a.cpp", "at::empty_like") in said
    assert ("use", "pack/a.py", "torch.nn.functional.relu") in said
    assert ("use", "pack/a.py", "torch.add") in said
    assert not [name for _, _, name in said if "std" in name or name == "vector"]


def test_counts_by_framework(view: View) -> None:
    (counted,) = external(view)
    assert (counted.base, counted.imports, counted.importing) == ("pytorch", 7, 3)
    assert (counted.library_imports, counted.library_importing) == (5, 2)
    assert counted.includes == 2
    assert counted.uses == len([e for e in edges(view) if e.sort == "use"])


def test_status_says_them(view: View) -> None:
    answer = status(view)
    assert "external references: 7 imports to pytorch from 3 modules" in as_text(answer)
    assert as_json(answer)["external"][0]["imports"] == 7


def test_a_framework_has_none_to_itself() -> None:
    assert external(view_of_sources({"torch/a.py": "import torch\n"}, "pytorch")) == []


def test_they_are_listed_by_name(view: View) -> None:
    answer = search(view, "nn.functional", "external")
    assert [(i.symbol, i.file, i.line) for i in answer.items] == [
        ("torch.nn.functional", "pack/a.py", 8),
        ("torch.nn.functional.relu", "pack/a.py", 9),
    ]
    assert "use from pytorch, 2 places" in answer.items[1].note


def test_they_join_the_index_of_the_framework_by_place(view: View) -> None:
    base = view_of_sources(
        {
            "torch/nn/functional.py": "def relu(input):\n    return input\n",
            "torch/nn/__init__.py": "from . import functional\n",
            "aten/src/ATen/ATen.h": "#pragma once\n",
        }
    )
    joined = {item.symbol: place_in(base, item.symbol) for item in external_items(view, "")}
    assert joined["torch.nn.functional.relu"] == Place("torch/nn/functional.py", 1)
    assert joined["ATen/ATen.h"] == Place("aten/src/ATen/ATen.h", 1)
    assert joined["torch.Tensor"] is None
    assert place_in(base, "torch.nn.functional.gelu") is None


def test_a_name_of_another_language_is_no_edge() -> None:
    facts = parse("pack/a.py", b"import torch\n", harness("vllm"))
    renamed = replace(
        facts, references=tuple(r._replace(name="torch/x", kind="call") for r in facts.references)
    )
    assert edges(view_of(renamed, rules=harness("vllm").rules)) == ()
