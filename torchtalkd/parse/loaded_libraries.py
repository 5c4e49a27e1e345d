"""Which libraries Python loads by `torch.ops.load_library(path)`: an import of what they register.

The path is hardly ever a literal: it is looked for by the module's name, in a function or by an import
spec. So each text that the argument is made of counts, names and calls followed; what has the form
of a library's or module's name is one. torch/_ops.py defines the call.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from torchtalkd import keys
from torchtalkd.facts import Reference
from torchtalkd.parse.static_values import UNKNOWN, Scope

LOAD_LIBRARY = "load_library"
_STEM = re.compile(r"(?:lib)?(\w+)(?:\.(?:so|pyd|dll|dylib)\b.*)?$")
_DEEPEST = 6


def read_loaded(call: ast.Call, scope: Scope, package: str) -> Iterator[Reference]:
    """The modules that a call of load_library may load, as references of kind `import`."""
    if not call.args:
        return
    found: dict[str, None] = {}
    for text in _texts(call.args[0], scope, 0):
        match = _STEM.match(text.replace("\\", "/").rpartition("/")[2])
        if match and not match[1].isdigit():
            found.setdefault(match[1])
    for stem in found:
        name = f"{package}.{stem}" if package else stem
        yield Reference(keys.py(name), name, "import", call.lineno, call.col_offset)


def _texts(node: ast.expr, scope: Scope, depth: int) -> Iterator[str]:
    """The texts that an expression is made of."""
    if depth > _DEEPEST:
        return
    value = scope.value(node)
    known = [text for text in value.texts if text and text != UNKNOWN]
    if known:
        yield from known
    elif isinstance(node, ast.Name):
        for assigned in scope.assigned(node.id):
            yield from _texts(assigned, scope, depth + 1)
    elif isinstance(node, ast.Attribute):
        yield from _texts(node.value, scope, depth + 1)
    elif isinstance(node, ast.Call):
        if node.args:
            yield from _texts(node.args[0], scope, depth + 1)
    else:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                yield from _texts(child, scope, depth + 1)
