"""affected: which tests run what in Python: tables, names that are looked up, what copies objects."""

from __future__ import annotations

import pytest

from tests.facts_view import view_of_sources
from tests.test_affected import NATIVE, SOURCES, files
from torchtalkd.queries.affected import affected

TABLES = """
import sys
import torch

def relu(x):
    return torch.relu(x)

def twice(x):
    return torch.sole(x)

def rare(x):
    return torch.rare(x)

def on_device(x):
    return torch.lone(x)

IS_LINUX = sys.platform == "linux"
RULES = {"relu": relu}
OTHERS = [twice]
OTHERS.append(rare)
BOTH = [*RULES, *OTHERS]
FILLED = {}
torch.fill(FILLED, on_device)
"""
FILLING = """
import torch

def low(x):
    return torch.relu(x)

for name in ("high", "higher"):
    globals()[name] = low
"""


@pytest.mark.parametrize(
    ("named", "operators"),
    [
        ("IS_LINUX", set()),
        ("RULES", {"relu"}),
        ("OTHERS", {"sole", "rare", "lone"}),  # What changes one may put anything into it.
        ("BOTH", {"relu", "sole", "rare", "lone"}),
        ("FILLED", {"lone"}),
        ("__file__", set()),
    ],
)
def test_what_is_in_a_table_is_run_by_who_uses_that_table(named: str, operators: set[str]) -> None:
    """And not by who uses another one, but for what the text does not tell apart."""
    entries = "".join(f"- func: {name}(Tensor self) -> Tensor\n" for name in ("sole", "lone"))
    use = f"torch.tables.{named}"
    sources = SOURCES | {
        f"{NATIVE}/native_functions.yaml": SOURCES[f"{NATIVE}/native_functions.yaml"] + entries,
        "torch/tables.py": TABLES,
        "test/test_table.py": f"import torch.tables\n\ndef test_it():\n    print({use})\n    {use}.get(1)\n",
    }
    view = view_of_sources(sources)
    for operator in ("relu", "sole", "rare", "lone"):
        chosen = files(affected(view, [f"torch.{operator}"]))
        assert ("test_table.py" in chosen) == (operator in operators), operator


def test_names_that_no_text_shows_may_be_what_a_loop_makes() -> None:
    """`globals()[name] = low` gives the module names; who uses one of them runs low."""
    sources = SOURCES | {
        "torch/filling.py": FILLING,
        "test/test_filled.py": "import torch.filling\n\ndef test_it():\n    torch.filling.higher(1)\n",
    }
    assert "test_filled.py" in files(affected(view_of_sources(sources), ["torch.relu"]))


@pytest.mark.parametrize(
    ("body", "reached"),
    [
        ("    for name in ['rel', 'tw']:\n        getattr(torch, name + 'u')(1)\n", True),
        ("    for name in ['relu', 'rare']:\n        getattr(torch, name)(1)\n", True),
        ("    for name in ['twice']:\n        getattr(torch, name)(1)\n", False),
        ("    getattr(torch, other() + 'lu')(1)\n", True),
        ("    getattr(torch, other() + 're')(1)\n", False),
        ("    getattr(torch, other())(1)\n", True),
    ],
)
def test_a_name_that_is_looked_up(body: str, reached: bool) -> None:
    """It is what the loop around says; else all names that may be meant."""
    plain = {path: text for path, text in SOURCES.items() if path != "tools/autograd/derivatives.yaml"}
    plain[f"{NATIVE}/Relu.cpp"] = plain[f"{NATIVE}/Relu.cpp"].replace("at::relu(at::relu(self))", "self")
    sources = plain | {"test/test_looked_up.py": f"import torch\n\ndef test_it():\n{body}"}
    chosen = files(affected(view_of_sources(sources), ["torch.relu"]))
    assert ("test_looked_up.py" in chosen) == reached


def test_parametrized_names_are_those_of_the_decorator() -> None:
    """`@parametrize("name", ["relu"])` with `getattr(torch, name)` is relu, and not rare."""
    test = "import torch\n\n@parametrize('name', ['relu'])\ndef test_it(name):\n    getattr(torch, name)(1)\n"
    view = view_of_sources(SOURCES | {"test/test_given.py": test})
    assert "test_given.py" in files(affected(view, ["torch.relu"]))
    assert "test_given.py" not in files(affected(view, ["torch.rare"]))


def test_only_what_copies_runs_the_methods_for_that() -> None:
    """`__deepcopy__` is run where copy is, and other special methods wherever the class is."""
    own = "\nclass Kept:\n    def __deepcopy__(self, memo):\n        return torch.rare(1)\n\n"
    own += "    def __len__(self):\n        return torch.relu(1)\n"
    copies = "import copy\nimport torch.kept\n\ndef test_it():\n    copy.deepcopy(torch.kept.Kept())\n"
    sources = SOURCES | {
        "torch/kept.py": f"import torch\n{own}",
        "test/test_copies.py": copies,
        "test/test_keeps.py": "import torch.kept\n\ndef test_it():\n    torch.kept.Kept()\n",
    }
    view = view_of_sources(sources)
    assert {"test_copies.py", "test_keeps.py"} <= files(affected(view, ["torch.relu"]))
    rare = files(affected(view, ["torch.rare"]))
    assert "test_copies.py" in rare and "test_keeps.py" not in rare


def test_star_imports_in_circles_end() -> None:
    """Modules that import all of each other, and a name that none of them has."""
    names = [f"part{n}" for n in range(12)]
    stars = "".join(f"from torch.{name} import *\n" for name in names)
    sources = SOURCES | {f"torch/{name}.py": stars for name in names}
    sources["test/test_circle.py"] = "import torch.part0\n\ndef test_it():\n    torch.part0.nothing(1)\n"
    assert files(affected(view_of_sources(sources), ["torch.relu"])) >= {"test_modules.py"}
