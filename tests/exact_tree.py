"""A small tree in C++ for the tests of exact reading, and what an index says of it without ids."""

from __future__ import annotations

from pathlib import Path

from torchtalkd.conventions import Conventions, load
from torchtalkd.engine import build
from torchtalkd.engine.exact import ExactResult, read_exactly
from torchtalkd.facts import ExactReference
from torchtalkd.queries.graph import graph
from torchtalkd.store.database import open_view
from torchtalkd.store.view import View

BASE = """#pragma once
namespace c10 {
struct Base {
  virtual ~Base();
  virtual int run(int x);
  int twice(int x) { return run(x) + run(x); }
};
template <class T> T add(T a, T b) { return a + b; }
int pick(int);
int pick(double);
}
"""
BASE_CPP = """#include "c10/Base.h"
namespace c10 {
Base::~Base() {}
int Base::run(int x) { return pick(x); }
int pick(int x) { return x; }
int pick(double) { return 1; }
}
"""
USES = """#include "c10/Base.h"
#define CALL(f, x) f(x)
namespace at::native {
static int helper(int x) {
  return CALL(c10::pick, 2.0) + x;
}
int use(c10::Base& b) {
  auto f = [&](int y) { return helper(y) + b.run(y); };
  return f(1) + c10::add<int>(1, 2) + b.twice(2);
}
}
"""
FILES = {"c10/Base.h": BASE, "c10/Base.cpp": BASE_CPP, "aten/src/ATen/native/Uses.cpp": USES}


class ExactTree:
    """A tree and its index."""

    def __init__(self, root: Path, folder: Path, files: dict[str, str] | None = None) -> None:
        self.root, self.folder = root, folder
        for path, text in (FILES if files is None else files).items():
            self.write(path, text)

    @property
    def conventions(self) -> Conventions:
        return load("pytorch", tree=self.root)

    def write(self, path: str, text: str) -> None:
        """A save."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")

    def edit(self, path: str, before: str, after: str) -> None:
        """A save in which one thing is another."""
        text = (self.root / path).read_text("utf-8")
        assert before in text
        self.write(path, text.replace(before, after, 1))

    def by_name(self) -> None:
        """Brings the index up to date, by name alone."""
        build(self.root, self.folder, self.conventions)

    def exactly(self) -> ExactResult:
        """Brings both readings up to date."""
        self.by_name()
        return read_exactly(self.root, self.folder, self.conventions, workers=1)

    def view(self) -> View:
        """The newest revision."""
        return open_view(self.folder)


def called(view: View, path: str, name: str) -> list[str] | None:
    """What a function refers to, in the order of the text: `line:column kind name > path:line`."""
    file = view.file(path)
    assert file is not None
    (found,) = [d for d in view.definitions_in(file) if d.fact.name == name and not d.fact.declares]
    references = view.exact_in(found)
    if references is None:
        return None
    return [f"{r.line}:{r.column} {r.kind} {r.name} > {r.path}:{r.target_line}" for r in references]


def callers(view: View, path: str, name: str, signature: str = "") -> list[str]:
    """Who refers to a function: `name line kind`."""
    file = view.file(path)
    assert file is not None
    (found,) = [
        d for d in view.definitions_in(file) if d.fact.name == name and d.fact.signature.startswith(signature)
    ]
    return [f"{caller.fact.name} {r.line} {r.kind}" for caller, r in view.exact_to(found)]


def spelled(text: str, spelling: dict[str, str]) -> str:
    """A text with other names for its macros, which may be called anything."""
    for name, other in spelling.items():
        text = text.replace(name, other)
    return text


def of_use(view: View, path: str, line: int) -> tuple[ExactReference, ...] | None:
    """What the bodies that a macro makes by its use on a line refer to."""
    file = view.file(path)
    assert file is not None
    (use,) = [d for d in view.definitions_in(file) if (d.fact.line, d.fact.kind) == (line, "macro_use")]
    return view.exact_in(use)


def answered(view: View, name: str, mode: str) -> list[str]:
    """The ways of a graph: `line hop evidence name`."""
    found = graph(view, name, mode)
    return [f"{way.line} {way.hop} {way.evidence} {n.name}" for n in found.nodes[1:] for way in n.ways]


def everything(view: View) -> list[str]:
    """All that a view answers exactly, the same for any history."""
    found = []
    for file in view.files():
        for definition in view.definitions_in(file):
            what = f"{file.path}:{definition.fact.line}:{definition.fact.column} {definition.fact.name}"
            for reference in view.exact_in(definition) or ():
                target = view.definition(reference.target) if reference.target >= 0 else None
                meant = (target.file.path, target.fact.line, target.fact.name) if target else None
                found.append(f"{what} {reference._replace(target=0)} {meant}")
            for caller, reference in view.exact_to(definition):
                found.append(
                    f"{what} <- {caller.file.path} {caller.fact.name} {reference._replace(target=0)}"
                )
    return [*found, repr(view.exact_share())]
