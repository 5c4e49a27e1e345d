"""The operators that torchgen adds to those of native_functions.yaml: `autogen_operators`.

An entry's `autogen:` names them; what they look like follows from the entry's schema alone
(torchgen/native_function_generation.py). There are two kinds: an out= variant of a functional,
in-place or mutable operator, and a functional variant of an in-place, mutable or out= one. Each
gets a kernel that calls the entry's operator, for CompositeExplicitAutograd. Pure. Tests:
`tests/test_codegen.py`.
"""

from __future__ import annotations

import string
from collections.abc import Sequence
from typing import Literal, NamedTuple

from torchtalkd.codegen.names import unambiguous
from torchtalkd.codegen.schema import Alias, Argument, Return, Schema, Type, parse_schema
from torchtalkd.facts import Definition
from torchtalkd.keys import OperatorName, operator_name


class Autogen(NamedTuple):
    """A generated operator."""

    name: str
    """With namespace: `aten::_fused_adam.out`."""
    schema: str
    """In torchgen's spelling, without namespace."""
    kind: Literal["functional", "out"]
    wraps: str
    """The operator that its kernel calls."""
    kernel: str
    """The generated kernel's name, in at::native: `_fused_adam_out`; with `_symint` where it takes SymInt."""


def autogen_operators(entry: Definition) -> tuple[Autogen, ...]:
    """What torchgen makes of one `operator` definition with an `autogen:` field, in its order.

    torchgen refuses a file in which the names are not the ones it would choose; here a name
    is taken as written. Raises SchemaError if the entry's schema cannot be read. An entry that
    cannot have such a variant (nothing to write to) gives none.
    """
    written: Sequence[str] = (entry.detail or {}).get("autogen", ())
    if not written:
        return ()
    schema = parse_schema(entry.signature)
    found: list[Autogen] = []
    for text in written:
        name = operator_name(text)
        kind: Literal["functional", "out"] = "out" if name.overload.endswith("out") else "functional"
        made = _out_variant(schema, name) if kind == "out" else _functional_variant(schema, name)
        if made is None:
            continue
        kernel = unambiguous(str(name)) if kind == "out" else name.base
        namespace = name.namespace or operator_name(entry.name).namespace
        full = str(OperatorName(namespace, name.base, name.overload))
        found.append(
            Autogen(full, str(made), kind, entry.name, kernel + ("_symint" if made.has_symint else ""))
        )
    return tuple(found)


def _out_variant(schema: Schema, name: OperatorName) -> Schema | None:
    if schema.kind == "inplace":
        own = _self_argument(schema)
        if own is None:
            return None
        arguments = tuple(a._replace(alias=None) if a is own else a for a in schema.arguments)
        out = own._replace(name="out", default=None, keyword_only=True)
        return Schema(OperatorName("", name.base, name.overload), (*arguments, out), schema.returns)
    if schema.out_arguments:
        return None
    plain = all(r.type == Type("Tensor") for r in schema.returns)
    used = {letter for a in schema.arguments if a.alias for letter in a.alias.before}
    letters = [letter for letter in string.ascii_lowercase if letter not in used]
    outs: list[Argument] = []
    returns: list[Return] = []
    for number, returned in enumerate(schema.returns[: len(letters)]):
        if not returned.type.tensor_like:
            returns.append(returned)
            continue
        alias = Alias((letters[number],), True)
        out_name = "out" if len(schema.returns) == 1 else f"out{number}"
        outs.append(Argument(out_name, returned.type, None, alias, keyword_only=True))
        if plain:
            returns.append(Return("", returned.type, alias))
    if not outs:
        return None
    kept = schema.arguments if schema.kind == "mutable" else _stripped(schema)
    return Schema(OperatorName("", name.base, name.overload), (*kept, *outs), tuple(returns))


def _functional_variant(schema: Schema, name: OperatorName) -> Schema | None:
    if schema.kind == "functional":
        return None
    own = _self_argument(schema)
    outs = schema.out_arguments
    others = [a for a in schema.arguments if a is not own and a not in outs and not a.keyword_only]
    returned = {r.alias for r in schema.returns if r.alias is not None}
    more = tuple(
        Return(f"{a.name}_out", a.type)
        for a in (*([own] if own else []), *outs, *others)
        if a.written and a.alias not in returned
    )
    returns = tuple(Return(r.name, r.type) for r in schema.returns) + more
    return Schema(OperatorName("", name.base, name.overload), _stripped(schema), returns)


def _self_argument(schema: Schema) -> Argument | None:
    return next((a for a in schema.arguments if a.name == "self" and not a.keyword_only), None)


def _stripped(schema: Schema) -> tuple[Argument, ...]:
    """The arguments without aliases, out arguments and those of TensorOptions (`Arguments.signature`)."""
    outs = schema.out_arguments
    kept = [a for a in schema.arguments if a not in outs]
    options = {"dtype": "ScalarType", "layout": "Layout", "device": "Device", "pin_memory": "bool"}
    names = [a.name for a in kept]
    for first in range(len(kept) - 3):
        four = kept[first : first + 4]
        if names[first : first + 4] == list(options) and all(
            a.keyword_only and a.type.base == options[a.name] for a in four
        ):
            del kept[first : first + 4]
            break
    return tuple(a._replace(alias=None) for a in kept)
