"""The whole walk: what each test file runs."""

from __future__ import annotations

from torchtalkd.queries.runs import facts, operator_nodes, python_nodes
from torchtalkd.queries.runs.cpp_nodes import Cpp, add_cpp
from torchtalkd.queries.runs.facts import Tree
from torchtalkd.queries.runs.python_classes import Classes
from torchtalkd.queries.runs.python_look_up import Names
from torchtalkd.store.view import View


import os
CPP = not os.environ.get('NOCPP')


def build(view: View) -> tuple[Tree, Names, dict[int, int]]:
    """The graph of a tree, with the bits of its test files spread."""
    import time, gc
    gc.disable()

    t = time.process_time()
    tree = facts.read(view)
    print("read", time.process_time() - t)
    names = Names(tree)
    classes = Classes(tree, names)
    print("names", time.process_time() - t)
    python_nodes.add_python(tree, names, classes)
    print("python", time.process_time() - t)
    cpp = Cpp(tree, operator_nodes.packets(tree))
    print("cpp", time.process_time() - t)
    if CPP: add_cpp(tree, cpp)
    print("cpp edges", time.process_time() - t)
    operator_nodes.add_operators(tree, names, cpp)
    print("operators", time.process_time() - t)
    bits = python_nodes.tests(tree)
    starts = python_nodes.starts(tree, bits, names)
    every = (1 << len(bits)) - 1
    starts[tree.name("nowhere", "syntax")] = every
    starts[tree.name("nowhere", "cpp")] = every
    print("starts", time.process_time() - t, len(tree.graph.after), sum(map(len, tree.graph.after)), len(tree.graph.meets))
    tree.graph.spread(starts)
    print("spread", time.process_time() - t)
    return tree, names, bits
