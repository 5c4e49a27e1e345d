"""Names that Python modules get in loops or lazily, what they export, and texts that are half-typed."""

from __future__ import annotations

import json

import pytest

from tests.facts_view import harness, view_of_sources
from torchtalkd.facts import FileFacts
from torchtalkd.link import python_names
from torchtalkd.parse import parse
from torchtalkd.store.view import View


def read(text: str, path: str = "torch/pkg/mod.py") -> FileFacts:
    return parse(path, text.encode(), harness())


def aliases(facts: FileFacts) -> dict[str, list[str]]:
    return {
        d.name: [r.name for r in facts.references if r.owner == n and r.kind == "target"]
        for n, d in enumerate(facts.definitions)
        if d.kind == "alias" and not (d.detail or {}).get("import")
    }


def exported(text: str) -> dict[str, object]:
    facts = read(text)
    (found,) = [d for d in facts.definitions if d.name == "torch.pkg.mod.__all__"]
    return dict(found.detail or {})


def ends(view: View, name: str) -> list[str]:
    return [end.fact.name for end in python_names.resolve(view, name).ends]


def test_names_set_in_loops() -> None:
    facts = read("""
import sys, torch
def make(name): ...
for name in ("sin", "cos"):
    globals()[name] = getattr(torch, name)
for __name in ["sqrt"]:
    __made = f"_sym_{__name}"
    __fn = make(__name)
    globals()[__made] = __fn
for name, fn in {"up": torch.ceil, "down": torch.floor}.items():
    setattr(sys.modules[__name__], f"round_{name}", fn)
class Array:
    for method in ("add", "sub"):
        vars()[method] = make(method)
    def __init__(self):
        setattr(self, "x", torch.add)
setattr(Array, "mul", torch.mul)
globals()[unknown] = torch.add
""")
    m = "torch.pkg.mod"
    assert aliases(facts) == {
        f"{m}.sin": ["torch.sin"],
        f"{m}.cos": ["torch.cos"],
        f"{m}._sym_sqrt": [f"{m}.make"],
        f"{m}.round_up": ["torch.ceil"],
        f"{m}.round_down": ["torch.floor"],
        f"{m}.Array.add": [f"{m}.make"],
        f"{m}.Array.sub": [f"{m}.make"],
        f"{m}.Array.mul": ["torch.mul"],
    }


def test_names_given_when_first_asked_for() -> None:
    view = view_of_sources(
        {
            "torch/lazy/__init__.py": """
import importlib
from importlib import import_module
_TABLE = {
    "A": ".inner:A",
    "B": ("torch.lazy.inner", "B"),
    "C": "torch.lazy.inner",
    "D": "torch.lazy.inner.D",
}
_BY_MODULE = {"inner": ["E"]}
heavy = importlib.import_module(".inner", __name__)

def __getattr__(name):
    if name == "f":
        from .inner import f
        return f
    if name in _TABLE or name in _BY_MODULE:
        return import_module(_TABLE[name])
    raise AttributeError(name)
""",
            "torch/lazy/inner.py": "class A: ...\nclass B: ...\nclass C: ...\nclass D: ...\nclass E: ...\n"
            "def f(): ...\n",
        }
    )
    for name in "ABCDEf":
        assert ends(view, f"torch.lazy.{name}") == [f"torch.lazy.inner.{name}"], name
    assert ends(view, "torch.lazy.heavy.A") == ["torch.lazy.inner.A"]


@pytest.mark.parametrize(
    ("text", "detail"),
    [
        ('__all__ = ["a", "b"]\n__all__ += ["c"]', {"names": ["a", "b", "c"]}),
        ('__all__ = ["a"]\n__all__.extend(["b"])\n__all__.append("c")', {"names": ["a", "b", "c"]}),
        ('__all__ = ["a"]\nfor n in ("x", "y"):\n    __all__.append(n)', {"names": ["a", "x", "y"]}),
        ('N = ("x", "y")\n__all__ = [f"{n}_" for n in N]', {"names": ["x_", "y_"]}),
        ('N = {"x": 1, "y": 2}\n__all__ = list(N)', {"names": ["x", "y"]}),
        ('N = {"x": 1}\n__all__ = sorted(N.keys()) + ["z"]', {"names": ["x", "z"]}),
        ('from . import o\n__all__ = o.__all__ + ["a"]', {"names": ["a"], "of": ["torch.pkg.o"]}),
        ('from .o import __all__ as _o\n__all__ = ["a", *_o]', {"names": ["a"], "of": ["torch.pkg.o"]}),
        ('__all__ = [n for n in dir() if n[0] != "_"]', {"names": [], "more": True}),
        ('__all__ = ["a"]\n__all__.extend(computed())', {"names": ["a"], "more": True}),
        ('__all__ = ["a", "b"]\n__all__.remove("a")', {"names": ["b"]}),
        ('__all__ = ["a"]\n__all__ = ["b"]', {"names": ["b"]}),
    ],
)
def test_what_a_module_exports(text: str, detail: dict[str, object]) -> None:
    assert exported(text) == detail


def test_a_star_import_gives_what_is_exported() -> None:
    view = view_of_sources(
        {
            "torch/a.py": """__all__ = ["seen", "_listed"]
def seen(): ...
def hidden(): ...
def _listed(): ...
""",
            "torch/b.py": "def plain(): ...\ndef _private(): ...\n",
            "torch/c.py": "from torch.a import *\nfrom torch.b import *\n",
        }
    )
    assert ends(view, "torch.c.seen") == ["torch.a.seen"]
    assert ends(view, "torch.c._listed") == ["torch.a._listed"]
    assert ends(view, "torch.c.hidden") == []
    assert ends(view, "torch.c.plain") == ["torch.b.plain"]
    assert ends(view, "torch.c._private") == []


def test_what_objects_are_given() -> None:
    facts = read('''
from torch import nn
class Net(nn.Module):
    """self.doc = nn.Linear(1)"""
    def __init__(self):
        self.fc: nn.Module = nn.Linear(3)
        self.other = self.make()
        # self.comment = nn.Linear(2)
        self.x == nn.ReLU()
        self.many = nn.ModuleDict[str, list[nn.Module]]({})
        a = 1; self.last =  nn.Sequential(nn.ReLU())
        self.tight=nn.Tanh()
        self.wide \t=\t   nn.Tanh()
        self.given = make(nn=nn.ReLU(), other= nn.ReLU())
    def late(self, nn):
        self.hidden = nn.Linear(1)
''')
    assert [(r.key, r.name, r.line) for r in facts.references if r.kind == "holds"] == [
        ("py:Linear", "fc = torch.nn.Linear", 6),
        ("py:ModuleDict", "many = torch.nn.ModuleDict", 10),
        ("py:Sequential", "last = torch.nn.Sequential", 11),
        ("py:Tanh", "tight = torch.nn.Tanh", 12),
        ("py:Tanh", "wide = torch.nn.Tanh", 13),
    ]


INTACT = """
import torch

class Good(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)

def fine(x):
    return torch.sin(x)
"""


@pytest.mark.parametrize(
    "broken",
    [
        "def half(x, y",
        "class Half(torch.nn.Module",
        "class Half(torch.nn.Module):\n    def forward(self",
        "x = torch.add(1,",
        "if x:\n",
        "print 'python 2', x\nexec 'code' in d\n",
        "raise ValueError, 'two'\n",
        "except A, e:\n    pass\n",
        "def f[T: (int](x): ...\n",
        "match x:\n    case {'a': [b, *c}: pass\n",
        "lazy import torch\n",
        "with: x as y ->> z:\n    pass\n",
        "\0\0\0",
    ],
)
def test_half_typed_text_keeps_every_intact_definition(broken: str) -> None:
    for text in (f"{INTACT}\n{broken}", f"{broken}\n{INTACT}"):
        facts = read(text)
        names = {d.name.removeprefix("torch.pkg.mod.") for d in facts.definitions}
        assert {"Good", "Good.forward", "fine"} <= names, text
        assert any(r.kind == "base" and r.name == "torch.nn.Module" for r in facts.references)


def test_python_2_is_one_problem() -> None:
    facts = read("print 'a'\nprint 'b'\nexec 'c' in d\ndef f((a, b)):\n    raise E, 'x'\n")
    assert len(facts.problems) <= 1
    assert [p.line for p in read("x = 1\nif x: print x\n").problems] == [2]
    assert read("print (x), 1\nprint\nprint(x)\nexec(x)\nprint = exec\n").problems == ()


def test_a_notebook_is_no_python_file() -> None:
    notebook = json.dumps({"cells": [{"cell_type": "code", "source": ["import torch\n"]}], "nbformat": 4})
    facts = parse("test/notebook.py", notebook.encode(), harness())
    assert len(facts.problems) <= 1
    assert [d.kind for d in facts.definitions] == ["module"]
