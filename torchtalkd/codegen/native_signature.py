"""The C++ parameter types that torchgen demands of a kernel, in order.

Rules of torchgen/api/native.py (kernels of the `dispatch:` block and composites),
torchgen/api/structured.py (TORCH_META_FUNC, TORCH_IMPL_FUNC), torchgen/api/cpp.py (value
types) and torchgen/api/types. Types are spelled without `const`, `&` and namespaces where these
decide nothing: `torchtalkd.link.overload` compares modulo those. Newer and older spellings of
the same type (`c10::optional`, `std::optional`) are its business too.

Pure. Raises SchemaError where a schema cannot be read. Tests: `tests/test_codegen.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from torchtalkd.codegen.schema import Argument, Schema, SchemaError, Type, parse_schema

VALUE_TYPES: Final = {
    "int": "int64_t",
    "float": "double",
    "bool": "bool",
    "str": "c10::string_view",
    "SymBool": "c10::SymBool",
    "SymFloat": "c10::SymFloat",
    "number": "at::Scalar",
    "Generator": "at::Generator",
    "ScalarType": "at::ScalarType",
    "Dimname": "at::Dimname",
    "DimVector": "at::DimVector",
    "Layout": "at::Layout",
    "Device": "at::Device",
    "DeviceIndex": "at::DeviceIndex",
    "MemoryFormat": "at::MemoryFormat",
    "QScheme": "at::QScheme",
    "Storage": "at::Storage",
    "Stream": "at::Stream",
    "Any": "c10::IValue",
    "complex": "c10::complex<double>",
}
"""Schema type → C++ type (torchgen/api/types/types.py `BaseTypeToCppMapping`; the ones that only
`m.def` knows: aten/src/ATen/core/jit_type.h `getTypePtr_`)."""

_OPTIONS: Final = (
    ("dtype", "ScalarType"),
    ("layout", "Layout"),
    ("device", "Device"),
    ("pin_memory", "bool"),
)
"""The arguments that make TensorOptions, in order (torchgen/model.py `Arguments.parse`)."""


def kernel_types(schema: str, kernel_name: str) -> tuple[str, ...]:
    """What a kernel named in `dispatch:` (or an implicit composite) takes; out arguments last.

    A kernel takes `c10::SymInt` where the schema says SymInt if `_symint` is in its name
    (torchgen/model.py `BackendMetadata.supports_symint`), else `int64_t`.
    """
    return native_types(parse_schema(schema), symint="_symint" in kernel_name)


def native_types(schema: Schema, *, symint: bool) -> tuple[str, ...]:
    """As `kernel_types`, of a schema that is read already."""
    arguments = _out_last(schema)
    scattered = _options_at(arguments)
    return tuple(
        # dtype, layout, device and pin_memory are optional in C++ whatever the schema says.
        _optional(_native(Type(argument.type.base), symint))
        if scattered <= number < scattered + len(_OPTIONS)
        else _native(argument.type, symint)
        for number, argument in enumerate(arguments)
    )


def meta_types(schema: str) -> tuple[str, ...]:
    """What the TORCH_META_FUNC of a structured operator takes: the arguments that are not out."""
    read = parse_schema(schema)
    out = set(read.out_arguments)
    return tuple(_structured(argument.type) for argument in read.arguments if argument not in out)


def impl_types(schema: str, precomputed: Iterable[str] = ()) -> tuple[str, ...]:
    """What the TORCH_IMPL_FUNC of a structured out= operator takes.

    `precomputed` are the lines of that field: `dim -> int dim, bool all` puts what the meta
    function computed in an argument's place, a line without an arrow adds before the out
    arguments (torchgen/model.py `Precompute`).
    """
    read = parse_schema(schema)
    replace, add = precomputed_elements(precomputed)
    out = read.out_arguments
    types: list[str] = []
    for argument in read.arguments:
        if argument not in out:
            types.extend(_structured(element.type) for element in replace.get(argument.name, (argument,)))
    types.extend(_structured(element.type) for element in (*add, *out))
    return tuple(types)


def precomputed_elements(lines: Iterable[str]) -> tuple[Mapping[str, Sequence[Argument]], Sequence[Argument]]:
    """The `precomputed:` field: which elements replace which argument, and which are added."""
    replace: dict[str, Sequence[Argument]] = {}
    add: Sequence[Argument] = ()
    for line in lines:
        name, arrow, elements = line.partition(" -> ")
        if arrow:
            replace[name.strip()] = _elements(elements)
        else:
            add = (*add, *_elements(line))
    return replace, add


def _elements(text: str) -> tuple[Argument, ...]:
    try:
        return parse_schema(f"precomputed({text}) -> ()").arguments
    except SchemaError as error:
        raise SchemaError(f"precomputed {text!r}: {error}", error.position) from error


def _out_last(schema: Schema) -> list[Argument]:
    out = schema.out_arguments
    return [argument for argument in schema.arguments if argument not in out] + list(out)


def _options_at(arguments: Sequence[Argument]) -> int:
    """Where the four arguments of TensorOptions begin; far behind the end if there are none."""
    for first in range(len(arguments) - len(_OPTIONS) + 1):
        four = arguments[first : first + len(_OPTIONS)]
        if all(
            a.name == name and a.type.base == base and a.type.wrappers in ((), ("?",)) and a.keyword_only
            for a, (name, base) in zip(four, _OPTIONS, strict=True)
        ):
            return first
    return len(arguments)


def _optional(inner: str) -> str:
    return f"::std::optional<{inner}>"


def _value(type_: Type, symint: bool) -> str | None:
    """The C++ type of a value type; None for tensors, scalars and lists (api/cpp.py `valuetype_type`)."""
    if type_.optional:
        inner = _value(type_.unwrapped, symint)
        return None if inner is None else _optional(inner)
    if type_.wrappers:
        # A list of bools has a fixed size: `bool[3]`.
        size = type_.wrappers[-1][1:-1]
        return (
            f"::std::array<bool,{size}>"
            if type_.base == "bool" and len(type_.wrappers) == 1 and size
            else None
        )
    if type_.base in ("Tensor", "Scalar"):
        return None
    if type_.base == "SymInt":
        return "c10::SymInt" if symint else "int64_t"
    return VALUE_TYPES.get(type_.base) or _other(type_)


def _other(type_: Type) -> str:
    """What only `m.def` knows: custom classes, dictionaries, tuples. Parameters as in value position."""
    if type_.base.startswith("__torch__"):
        return f"c10::intrusive_ptr<{type_.base.rpartition('.')[2]}>"
    inner = ",".join(_native(parameter, symint=True) for parameter in type_.parameters)
    return {"Tuple": f"::std::tuple<{inner}>", "Dict": f"c10::Dict<{inner}>"}.get(type_.base, type_.base)


def _native(type_: Type, symint: bool) -> str:
    """torchgen/api/native.py `argumenttype_type`, with what it takes from api/cpp.py."""
    value = _value(type_, symint)
    if value is not None:
        return value
    if not type_.wrappers:
        return "at::Tensor" if type_.base == "Tensor" else "at::Scalar"
    inner = type_.unwrapped
    if type_.optional:
        if len(inner.wrappers) == 1 and not inner.optional and inner.base in ("int", "SymInt"):
            return (
                "at::OptionalSymIntArrayRef"
                if inner.base == "SymInt" and symint
                else "at::OptionalIntArrayRef"
            )
        return _optional(_native(inner, symint))
    if not inner.wrappers:
        if inner.base == "SymInt" and symint:
            return "c10::SymIntArrayRef"
        named = {"int": "at::IntArrayRef", "SymInt": "at::IntArrayRef", "Tensor": "at::TensorList"}
        if inner.base in named:
            return named[inner.base]
        if inner.base == "Dimname":
            return "at::DimnameList"
    if inner == Type("Tensor", ("?",)):
        return "c10::List<::std::optional<at::Tensor>>"
    return f"at::ArrayRef<{_native(inner, symint)}>"


def _structured(type_: Type) -> str:
    """torchgen/api/structured.py `argumenttype_type`: plain integers always, non-owning optionals."""
    if type_ == Type("Tensor", ("?",)):
        return "at::OptionalTensorRef"
    if type_ == Type("Scalar", ("?",)):
        return "at::OptionalScalarRef"
    if type_.base == "Tensor" and len(type_.wrappers) == 1:
        return "at::ITensorListRef"
    if type_ == Type("Tensor", ("?", "[]")):
        return "at::IOptTensorListRef"
    if type_.base == "SymInt" and type_.wrappers and type_.wrappers[0] != "?":
        # Not IntArrayRef and OptionalIntArrayRef, which are for `int[]` alone there.
        return (
            "at::ArrayRef<int64_t>" if len(type_.wrappers) == 1 else "::std::optional<at::ArrayRef<int64_t>>"
        )
    return _native(type_, symint=False)
