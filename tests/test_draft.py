"""Texts that are being written: a patch says what a whole reading says."""

from __future__ import annotations

import pytest

from tests.conftest import DEMO_TREE
from torchtalkd.conventions import load
from torchtalkd.facts import File
from torchtalkd.parse import draft as drafts
from torchtalkd.parse.draft import Draft, draft
from torchtalkd.store.laid import Laid

CONVENTIONS = load("pytorch")
YAML = "aten/src/ATen/native/native_functions.yaml"
CPP = """#include <x.h>
#define TWICE(name) int name##_twice() { return name() + name(); }
namespace at::native {
namespace {
int hidden(int a) { return a; }
} // namespace
Tensor first(const Tensor& self) {
  return hidden(1) + self.size(0);
}

Tensor second(const Tensor& self, int64_t dim) {
  return at::sum(self, dim);
}

struct Big {
  int method(int x) {
    return first_helper(x);
  }
%s
};

TWICE(second)
} // namespace at::native
""".replace("%s", "\n".join(f"  int member_{n}() {{ return other_{n}(); }}" for n in range(400)))
ENTRY = "- func: extra(Tensor self) -> Tensor\n  variants: method\n\n"
PYTHON = """import torch
from torch.nn import functional as F

def helper(x):
    return F.relu(x)

class Net:
    def forward(self, x):
        return helper(x)

""" + "\n".join(f"def f{n}(x):\n    return torch.add(x, helper({n}))\n" for n in range(300))


def facts_of(made: Draft, path: str) -> tuple[set[object], set[object]]:
    laid = Laid(made.overlay, File(1, path, "", "", ""))
    definitions = {
        (d.fact.key, d.fact.name, d.fact.kind, d.fact.line, d.fact.column, d.fact.local) for d in laid.all()
    }
    found = laid.references(lambda index: range(len(index.facts.references)))
    return definitions, {(r.fact.key, r.fact.name, r.fact.kind, r.fact.line, r.fact.column) for r in found}


@pytest.fixture(autouse=True)
def _always_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drafts, "QUICK_LINES", 0)


@pytest.mark.parametrize(
    ("path", "text", "old", "new"),
    [
        (YAML, "", "device_check: NoCheck", "device_check:  NoCheck"),
        (YAML, "", "- func: mul.Tensor", f"{ENTRY}- func: mul.Tensor"),
        (YAML, "", "    CPU, CUDA: mul_out\n", "    CPU, CUDA: mul_out\n    Meta: mul_meta\n"),
        (YAML, "", "- func: erf(Tensor self) -> Tensor\n", "- func: erf(Tensor self) -> Tensor\n\n\n"),
        ("a/b.cpp", CPP, "return hidden(1)", "return hidden(1)\n   + third(2)"),
        ("a/b.cpp", CPP, "Tensor second(", "Tensor more(int a) {\n  return first(a);\n}\n\nTensor second("),
        ("a/b.cpp", CPP, "  return at::sum(self, dim);\n", "  return at::mean(self);\n"),
        ("a/b.cpp", CPP, "other_200()", "another_200(1, 2)"),
        ("a/b.cpp", CPP, "int hidden(int a)", "int hidden2(int a)"),
        ("a/b.py", PYTHON, "torch.add(x, helper(150))", "F.gelu(x)\n"),
        ("a/b.py", PYTHON, "def f20(x):", "def between(y):\n    return helper(y)\n\ndef f20(x):"),
        ("a/b.py", PYTHON, "        return helper(x)", "        y = helper(x)\n        return y.t()"),
    ],
)
def test_a_patch_says_what_a_whole_reading_says(path: str, text: str, old: str, new: str) -> None:
    before = text or (DEMO_TREE / path).read_text("utf-8")
    assert old in before
    first = draft(path, before.encode(), CONVENTIONS)
    after = before.replace(old, new, 1).encode()
    patched = draft(path, after, CONVENTIONS, first)
    assert not patched.is_whole
    whole = draft(path, after, CONVENTIONS, patched, whole=True)
    assert whole.is_whole
    assert facts_of(patched, path) == facts_of(whole, path)
    assert draft(path, before.encode(), CONVENTIONS, patched).is_whole, "undone: nothing is to be read"


def test_the_same_text_is_not_read_again() -> None:
    first = draft("a.py", b"import torch\n", CONVENTIONS)
    assert draft("a.py", b"import torch\n", CONVENTIONS, first) is first


@pytest.mark.parametrize("data", [b"", b"\0\0", b"\xff\xfe" * 9, b"- func: (\n" * 40, b"{" * 5000])
def test_no_bytes_make_it_fail(data: bytes) -> None:
    for path in (YAML, "a.cpp", "b.py", "c.txt"):
        first = draft(path, b"- func: a(Tensor x) -> Tensor\n" * 3, CONVENTIONS)
        second = draft(path, data, CONVENTIONS, first)
        draft(path, data + b"\n", CONVENTIONS, second)
