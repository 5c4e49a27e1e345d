"""How a name of each language becomes a Key.

A key is a space and the last component of a name: `cpp:mul_kernel`, `op:add`, `py:conv2d`.
Two files meet only because their keys are equal, so this is the only file that spells the
spaces. What stands before the last component (namespaces, class, module) stays beside the
key as `name`; choosing among equal keys is the work of `torchtalkd.link`.

| space | names | last component of |
| --- | --- | --- |
| cpp | functions, classes, stubs, kernels | `at::native::mul_kernel` → `mul_kernel` |
| op | operators | `aten::add.Tensor` → `add` (overloads share a key: the packet) |
| py | Python names | `torch.nn.functional.conv2d` → `conv2d` |
| attr | a Python attribute of an unknown receiver | `x.add` → `add` |
| macro | C macros | `TORCH_CHECK` |
| file | files, for includes and imports | `ATen/native/DispatchStub.h` → `DispatchStub.h` |
| test | OpInfo names and tests | `nn.functional.gelu` → `nn.functional.gelu` |
| tag | operators' tags | `core` → `core` |
| target | what a build makes a module of | `torchvision._C` → `_C` |
| registry | what a registry in Python calls an entry | `LlamaForCausalLM` → `LlamaForCausalLM` |
"""

from __future__ import annotations

import re
from typing import NamedTuple

_TEMPLATE_ARGUMENTS = re.compile(r"<[^<>]*>")


def cpp(name: str) -> str:
    """The key of a C++ name, qualified or not; template arguments do not count."""
    return "cpp:" + cpp_last(name)


def cpp_last(name: str) -> str:
    """The last component of a C++ name: `at::Tensor::add_` → `add_`."""
    if name.isidentifier():
        return name
    if "operator" in name:
        before, word, rest = name.rpartition("operator")
        if not before or before.endswith("::"):
            return (word + rest).strip()
    elif "<" in name:
        name = without_template_arguments(name)
    return name.rpartition("::")[2].strip()


def without_template_arguments(name: str) -> str:
    """`a<b<c>>::d<int>` → `a::d`."""
    if "<" not in name:
        return name
    count = 1
    while count:
        name, count = _TEMPLATE_ARGUMENTS.subn("", name)
    opening, closing = name.find("<"), name.rfind(">")
    if opening > 0 and "operator" not in name:
        # An argument that compares: `f<T, n <= 128>`. A grammar may end the name within it.
        name = name[:opening] + (name[closing + 1 :] if closing > opening else "")
    return name


def before_template_arguments(text: str) -> str:
    """A text without the template arguments that it ends in: `…; ns::f<T, true>` → `…; ns::f`."""
    text = text.rstrip()
    if text.endswith(">"):
        depth = 0
        for at in range(len(text) - 1, -1, -1):
            depth += (text[at] == ">") - (text[at] == "<")
            if depth == 0:
                return text[:at].rstrip()
    return text


class OperatorName(NamedTuple):
    """`namespace::base.overload`; namespace '' when none is written."""

    namespace: str
    base: str
    overload: str

    def __str__(self) -> str:
        name = f"{self.namespace}::{self.base}" if self.namespace else self.base
        return f"{name}.{self.overload}" if self.overload else name


def operator_name(text: str) -> OperatorName:
    """Split `aten::add.Tensor` (or a schema that begins with it). A namespace that another file
    says stands in braces, and what is in them is no schema: `{CONCAT(A, _b)}::f`."""
    if text.startswith("{"):
        hole, _, rest = text.partition("}")
        return operator_name(rest)._replace(namespace=hole + "}")
    text = text.partition("(")[0].strip()
    namespace, _, rest = text.rpartition("::")
    base, _, overload = rest.partition(".")
    return OperatorName(namespace, base, overload)


def canonical_operator(name: OperatorName, namespace: str) -> OperatorName:
    """With the namespace that is meant where none is written, and `default` (as torch.ops calls
    the overload without a name) as no overload."""
    overload = "" if name.overload == "default" else name.overload
    return OperatorName(name.namespace or namespace, name.base, overload)


def op(name: str) -> str:
    """The key of an operator: its packet, without namespace and overload."""
    return "op:" + operator_name(name).base


def py(name: str) -> str:
    """The key of a dotted Python name."""
    return "py:" + name.rpartition(".")[2]


def attr(name: str) -> str:
    """The key of a method or attribute whose receiver is not known."""
    return "attr:" + name.rpartition(".")[2]


def macro(name: str) -> str:
    """The key of a C macro."""
    return "macro:" + name


def file(path: str) -> str:
    """The key of a file: its base name, as an include or an import may spell the rest."""
    return "file:" + path.rpartition("/")[2]


def test(name: str) -> str:
    """The key of a test or OpInfo name, whole."""
    return "test:" + name


def tag(name: str) -> str:
    """The key of a tag of operators, whole."""
    return "tag:" + name


def target(name: str) -> str:
    """The key of a build target: the last component of the module that it makes."""
    return "target:" + name.rpartition(".")[2]


def registry(name: str) -> str:
    """The key of an entry of a registry, whole."""
    return "registry:" + name


def last(key: str) -> str:
    """The name in a key: `cpp:mul` → `mul`."""
    return key.partition(":")[2]


def space(key: str) -> str:
    """The space of a key: `cpp:mul` → `cpp`."""
    return key.partition(":")[0]
