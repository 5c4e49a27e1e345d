"""A schema as the dispatcher prints it: names of dimensions are texts, defaults are values.

torch/csrc/jit/frontend/function_schema_parser.cpp reads a default into a value, and
aten/src/ATen/core/function_schema.h writes it again.
"""

from __future__ import annotations

import re
from typing import Final

from torchtalkd.codegen.schema import Argument, Schema, Type

_CONSTANTS: Final = {"Mean": "1", "Sum": "2", "contiguous_format": "0", "strided": "0"}
_SCALAR_TYPES: Final = {
    "uint8": "0", "int8": "1", "short": "2", "int": "3", "long": "4", "half": "5", "float": "6",
    "double": "7", "bool": "11", "bfloat16": "15",
}  # fmt: skip
"""c10/core/ScalarType.h, by their names in schemas."""
_NUMBER: Final = re.compile(r"-?\d+(?:\.\d*)?(?:e[+-]?\d+)?|-?\.\d+", re.IGNORECASE)


def printed_schema(schema: Schema, namespace: str) -> str:
    """`aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor`."""
    name = schema.name if schema.name.namespace else schema.name._replace(namespace=namespace)
    parts: list[str] = []
    keyword = False
    for argument in schema.arguments:
        if argument.keyword_only and not keyword:
            parts.append("*")
            keyword = True
        parts.append(_argument(argument))
    returns = [str(one._replace(type=_plain(one.type))) for one in schema.returns]
    given = returns[0] if len(returns) == 1 else f"({', '.join(returns)})"
    return f"{name}({', '.join(parts)}) -> {given}"


def _argument(argument: Argument) -> str:
    default = None if argument.default is None else _default(argument.default.strip(), argument.type)
    return str(argument._replace(type=_plain(argument.type), default=default))


def _plain(type_: Type) -> Type:
    base = "str" if type_.base == "Dimname" else type_.base
    return Type(base, type_.wrappers, tuple(map(_plain, type_.parameters)))


def _default(text: str, type_: Type) -> str:
    size = re.fullmatch(r"\[(\d+)\]", type_.wrappers[-1]) if type_.wrappers else None
    if text.startswith("["):
        items = [_value(item.strip(), type_.base) for item in text[1:-1].split(",") if item.strip()]
    elif size is not None and text != "None":
        items = [_value(text, type_.base)] * int(size[1])
    else:
        return _value(text, type_.base)
    if type_.base == "int" and size is not None and len(items) == int(size[1]) and len(set(items)) == 1:
        # Only of plain integers the printer writes one for all.
        return items[0]
    return f"[{', '.join(items)}]"


def _value(text: str, base: str) -> str:
    if text[:1] in "'\"":
        return f'"{text[1:-1]}"'
    if base == "ScalarType":
        return _SCALAR_TYPES.get(text, text)
    if _NUMBER.fullmatch(text) and (base == "float" or not re.fullmatch(r"-?\d+", text)):
        value = float(text)
        return f"{int(value)}." if value == int(value) and abs(value) < 1e16 else f"{value:.17g}"
    return _CONSTANTS.get(text, text)
