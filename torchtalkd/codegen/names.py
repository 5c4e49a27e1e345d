"""The names that torchgen makes of an operator, in Python and in C++.

Sources: torchgen/api/cpp.py `name`, torchgen/api/types/signatures.py `CppSignatureGroup`,
torchgen/gen.py (which files define what), torchgen/api/meta.py, torchgen/api/ufunc.py and
tools/autograd/gen_python_functions.py. None of these names is defined in the tree: all stand
for the operator's yaml entry. Pure. Tests: `tests/test_codegen.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final, NamedTuple

from torchtalkd.codegen.schema import Schema, parse_schema
from torchtalkd.keys import operator_name

HEADER_KEYS: Final = frozenset(
    [
        "CPU",
        "CUDA",
        "MPS",
        "XPU",
        "MTIA",
        "Meta",
        "CompositeImplicitAutograd",
        "CompositeImplicitAutogradNestedTensor",
        "CompositeExplicitAutograd",
        "CompositeExplicitAutogradNonFunctional",
    ]
)
"""Dispatch keys whose kernels get functions in a namespace named like the key (torchgen/gen.py
`functions_keys`)."""


class CppName(NamedTuple):
    """A C++ function that torchgen generates for an operator."""

    name: str
    """Qualified: `at::add_out`, `at::Tensor::add`, `at::_ops::add_Tensor::call`."""
    dispatch_key: str = ""
    """For the functions of one backend: `at::cpu::add` is CPU."""


def implicit_kernel(schema: str | Schema) -> str:
    """The kernel of an entry without `dispatch:`: the operator's base name, with `_out` for out= variants."""
    read = _read(schema)
    return read.name.base + ("_out" if read.out_arguments else "")


def unambiguous(operator: str) -> str:
    """`aten::add.Tensor` → `add_Tensor`: the class in `at::_ops`, the kernel of a generated out= variant."""
    name = operator_name(operator)
    return f"{name.base}_{name.overload}" if name.overload else name.base


def meta_function(functional_operator: str) -> str:
    """What TORCH_META_FUNC makes for a structured operator, by its functional overload:
    `aten::add.Tensor` → `at::meta::add_Tensor` (its class is `structured_add_Tensor`)."""
    return f"at::meta::{unambiguous(functional_operator)}"


def ufunc_stub(operator: str) -> str:
    """The dispatch stub that torchgen generates for an operator with `ufunc_inner_loop`."""
    return f"at::native::{operator_name(operator).base}_stub"


def python_names(
    operator: str,
    variants: Iterable[str] = ("function",),
    python_module: str = "",
    *,
    modules: Mapping[str, str] | None = None,
    functions_module: str = "torch",
    methods_class: str = "torch.Tensor",
) -> tuple[str, ...]:
    """The Python names of an operator, one for each variant: `torch.add`, `torch.Tensor.add`.

    All overloads of an operator and its out= variant are one Python name. `modules` maps a
    `python_module:` to where its functions are bound; without it `nn` is `torch._C._nn`.
    """
    base = operator_name(operator).base
    found = []
    for variant in variants:
        if variant == "method":
            holder = methods_class
        elif python_module:
            holder = (modules or {}).get(python_module, f"{functions_module}._C._{python_module}")
        else:
            holder = functions_module
        found.append(f"{holder}.{base}")
    return tuple(found)


def cpp_names(
    schema: str | Schema,
    variants: Collection[str] = ("function",),
    dispatch_keys: Iterable[str] = (),
    *,
    manual_cpp_binding: bool = False,
) -> tuple[CppName, ...]:
    """All C++ functions that torchgen generates for one entry.

    `dispatch_keys` are those of the entry's kernels; for an entry with `structured_delegate`
    those of the operator it delegates to. With `manual_cpp_binding` the functions have a name of
    their own, `__dispatch_…`, as the real one is written by hand.
    """
    read = _read(schema)
    public = tuple(f"__dispatch_{name}" if manual_cpp_binding else name for name in _spellings(read))
    found: list[CppName] = []
    if "function" in variants:
        found += [CppName(f"at::{name}") for name in public]
    if "method" in variants:
        found += [CppName(f"at::Tensor::{name}") for name in public]
    found += [CppName(f"at::redispatch::{name}") for name in _spellings(read)]
    found += [
        CppName(f"at::_ops::{unambiguous(str(read.name))}::{member}") for member in ("call", "redispatch")
    ]
    for key in dict.fromkeys(dispatch_keys):
        if key in HEADER_KEYS:
            found += [CppName(f"at::{key.lower()}::{name}", key) for name in _spellings(read)]
    return tuple(found)


def _spellings(schema: Schema) -> tuple[str, ...]:
    """`add_out` takes its out arguments first, `add_outf` last; `add_symint` takes SymInt for int64_t."""
    stems = (schema.name.base, f"{schema.name.base}_symint") if schema.has_symint else (schema.name.base,)
    endings = ("_out", "_outf") if schema.out_arguments else ("",)
    return tuple(stem + ending for stem in stems for ending in endings)


def _read(schema: str | Schema) -> Schema:
    return parse_schema(schema) if isinstance(schema, str) else schema
