"""What a name means in one Python file: imports, definitions and followed aliases. Pure.

Nothing here looks into another file: `from .functional import relu as r` in
`torch/nn/modules/activation.py` makes `r` mean `torch.nn.functional.relu`, and whether that
is itself an alias is for `torchtalkd.link` to find out.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache

from torchtalkd import keys

_OPERATORS = "torch.ops."
_OPERATORS_TOO = "torch._ops.ops."
"""The same object: torch/__init__.py does `from torch._ops import ops`."""


def module_name(path: str, roots: tuple[str, ...]) -> str:
    """The dotted name that `path` is imported by; the longest matching root is taken away."""
    best = ""
    for root in roots:
        root = root.strip("/")
        if len(root) > len(best) and path.startswith(root + "/"):
            best = root
    inner = path[len(best) + 1 :] if best else path
    folder, _, file = inner.rpartition("/")
    stem = file.rpartition(".")[0] or file
    parts = [part for part in folder.split("/") if part]
    if stem != "__init__" or not parts:
        parts.append(stem)
    return ".".join(parts)


def package_of(path: str, module: str) -> str:
    """The package that a relative import in the file starts from."""
    stem = path.rpartition("/")[2].partition(".")[0]
    return module if stem == "__init__" else module.rpartition(".")[0]


def imported_module(written: str, package: str) -> str:
    """The full name of what stands after `from`: `..x` in package a.b.c → `a.b.x`."""
    rest = written.lstrip(".")
    dots = len(written) - len(rest)
    if not dots:
        return rest
    parts = package.split(".") if package else []
    parts = parts[: max(len(parts) - dots + 1, 0)]
    return ".".join([*parts, rest] if rest else parts)


@dataclass(slots=True)
class Names:
    """Names of one file → full dotted names. Filled while the file's outline is read."""

    top: dict[bytes, str] = field(default_factory=dict)
    """Names of the module: imports, definitions, aliases."""
    scoped: dict[int, dict[bytes, str | None]] = field(default_factory=dict)
    """Names of a function or class, by its ordinal; None: a local that hides an outer name."""
    local: set[bytes] = field(default_factory=set)
    """Names that some function has of its own."""
    modules: set[bytes] = field(default_factory=set)
    """Names that are modules for certain: from `import x`."""
    star: bool = False
    """Whether there is a `from x import *`: then a name may come from there."""

    def bind(self, owner: int, name: bytes, meaning: str | None) -> None:
        """Let `name` mean `meaning` in the function with ordinal `owner`."""
        self.scoped.setdefault(owner, {})[name] = meaning
        self.local.add(name)

    def member(self, owner: int, name: bytes, meaning: str) -> None:
        """A name of a class's body: seen there, and not from the methods."""
        self.scoped.setdefault(owner, {})[name] = meaning


@cache
def key_of(name: str) -> str:
    """The key of a full Python name; `torch.ops.aten.add.Tensor` is an operator's."""
    if name.startswith(_OPERATORS):
        parts = name.split(".", 4)
        if len(parts) > 3:
            return keys.op(f"{parts[2]}::{parts[3]}")
    return keys.py(name)


def operator_of(name: str, namespace: str) -> str:
    """`torch.ops.aten.add.Tensor` → `aten::add.Tensor`; '' when it names no operator.

    Where the packet was imported from elsewhere (`from .lowering import aten`) its last part
    still says which it is: `namespace` (a manifest's operator namespace) as a component.
    """
    if name.startswith(_OPERATORS):
        parts = name.split(".")[2:]
    else:
        parts = name.split(".")
        if namespace not in parts[:-1]:
            return ""
        parts = parts[parts.index(namespace) :]
    if not 2 <= len(parts) <= 3:
        return ""
    return f"{parts[0]}::{'.'.join(parts[1:])}"


def canonical(name: str) -> str:
    """One spelling for the operator packets."""
    return _OPERATORS + name[len(_OPERATORS_TOO) :] if name.startswith(_OPERATORS_TOO) else name


def is_operators(name: str) -> bool:
    """Whether it is `torch.ops`, a namespace or an operator below it."""
    return name == _OPERATORS[:-1] or name.startswith(_OPERATORS)
