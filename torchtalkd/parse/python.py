"""Python → FileFacts. Pure; never raises for any bytes.

The stages: `python_source` (bytes → UTF-8), `python_tree` (one tree, one query),
`python_outline` (definitions, scopes, what names mean), `python_aliases`, `python_uses`
(calls and values: the hot loop), `python_bindings` (what the manifest's conventions bind),
`python_registries`, `python_lookups` and `python_tests`.
"""

from __future__ import annotations

import re
from functools import lru_cache

from torchtalkd.conventions.values import Conventions
from torchtalkd.facts import FileFacts, Problem
from torchtalkd.parse.python_aliases import read_aliases
from torchtalkd.parse.python_bindings import read_bindings, read_layers
from torchtalkd.parse.python_conventions import bindings_of
from torchtalkd.parse.python_docs import read_docs
from torchtalkd.parse.python_dynamic import read_dynamic
from torchtalkd.parse.python_lookups import read_lookups
from torchtalkd.parse.python_names import canonical, module_name, package_of
from torchtalkd.parse.python_outline import Outline, outline
from torchtalkd.parse.python_registries import read_registries
from torchtalkd.parse.python_renamed import read_renamed, renamed_calls
from torchtalkd.parse.python_source import source_text
from torchtalkd.parse.python_tests import Decorated, read_tests
from torchtalkd.parse.python_tree import read_tree
from torchtalkd.parse.python_uses import read_uses
from torchtalkd.parse.python_variables import read_variables


def parse_python(path: str, data: bytes, conventions: Conventions, language: str, role: str) -> FileFacts:
    """All that one Python file says. `role` test: its imports make no aliases."""
    python = conventions.python
    data, problems = source_text(data)
    tree = read_tree(data, arguments=role != "test")
    module = module_name(path, python.roots)
    out = outline(tree, data, module, package_of(path, module), role == "test")
    if tree.error_line:
        problems.append(Problem(tree.error_line, "syntax", "this text is not Python that the grammar knows"))
    elif out.python_2:
        problems.append(Problem(out.python_2, "syntax", "this is Python 2: print and exec are functions now"))
    bindings = bindings_of(python)
    read_aliases(out, bindings.loaders)
    read_dynamic(out)
    read_variables(out)
    renamed = read_renamed(out, bindings.wanted.binds)
    calls = read_uses(out, tree.matches, bindings.wanted)
    calls[:0] = renamed_calls(out, renamed)
    decorated = _tell_decorators(out, bindings.kernels)
    if role != "test":
        read_docs(out)
    read_bindings(out, calls, bindings, path, conventions.rules.operator_namespace, renamed)
    read_registries(out, calls, bindings.registries, path)
    read_lookups(out, calls, python.lookups)
    read_layers(out, bindings, path)
    read_tests(out, decorated, calls, python.tests)
    return FileFacts(path, language, role, tuple(out.definitions), tuple(out.references), tuple(problems))


def _tell_decorators(out: Outline, kernels: re.Pattern[str] | None) -> list[Decorated]:
    """Tells definitions the names of their decorators, and returns these with their places."""
    decorated: list[Decorated] = []
    for ordinal, nodes in out.decorators.items():
        d = out.definitions[ordinal]
        names: list[str] = []
        for outer in nodes:
            node, is_ = outer, outer.type
            while is_ == "call" and (function := node.child_by_field_name("function")) is not None:
                node, is_ = function, function.type
            written = out.data[node.start_byte : node.end_byte]
            name = out.resolve(written, d.scope)
            if not name and is_ in ("identifier", "attribute"):
                name = written.decode("utf-8", "replace")
            if name:
                names.append(canonical(name))
                decorated.append(Decorated(ordinal, names[-1], outer))
        if names:
            kind = d.kind
            if kernels is not None and kind == "function" and any(_fits(kernels, name) for name in names):
                kind = "kernel"
            out.definitions[ordinal] = d._replace(kind=kind, detail={"decorators": names})
    return decorated


@lru_cache(maxsize=10_000)
def _fits(pattern: re.Pattern[str], name: str) -> bool:
    """Whether the pattern matches the name; a tree has few decorators."""
    return pattern.fullmatch(name) is not None
