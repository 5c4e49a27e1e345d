"""What torchgen registers for the operators of native_functions.yaml: under which key, in which file.

The rules are torchgen's, without running it: one kernel file for each dispatch key
(torchgen/dest/register_dispatch_key.py), and by schema and derivative the kernels for autograd
(tools/autograd/gen_variable_type.py), in-place and view tracking (gen_inplace_or_view_type.py),
tracing (gen_trace_type.py), functionalization (torchgen/gen_functionalization_type.py) and the
choice of a backend for factories (torchgen/gen.py `ComputeBackendSelect`). Its lists of
exceptions are manifest data (`Torchgen`). Pure. Tests: `tests/test_registrations.py`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final, NamedTuple, TypeAlias

from torchtalkd.codegen.schema import Schema, SchemaKind
from torchtalkd.facts import Torchgen
from torchtalkd.keys import operator_name

IMPLICIT: Final = "CompositeImplicitAutograd"
NESTED: Final = "CompositeImplicitAutogradNestedTensor"
EXPLICIT: Final = "CompositeExplicitAutograd"
NON_FUNCTIONAL: Final = "CompositeExplicitAutogradNonFunctional"
DEFAULT: Final = "Default"
"""The key of a derivative that names none: it is registered for Autograd."""


class Overload(NamedTuple):
    """What decides about the generated registrations of one operator."""

    name: str
    """With namespace: `aten::add.Tensor`."""
    schema: Schema
    dispatch_keys: Collection[str]
    """Those of its own entry, the implicit one included; EXPLICIT for what `autogen` makes."""
    structured: bool = False
    delegate: str = ""
    """The out= overload that its entry delegates to, with namespace."""
    tags: Collection[str] = ()
    manual_kernel: bool = False
    """`manual_kernel_registration: True`."""
    generated: bool = False
    """Made by `autogen:`."""
    derivative: Collection[str] = ()
    """The keys of its own entry in derivatives.yaml, DEFAULT for one without `dispatch:`."""
    has_formula: bool = False
    """That entry makes an autograd node."""

    @property
    def bare(self) -> str:
        """`add.Tensor`."""
        return self.name.rpartition("::")[2]

    @property
    def composite(self) -> bool:
        """Whether it is made of other operators for every backend (not torchgen/model.py `is_abstract`)."""
        return not self.delegate and set(self.dispatch_keys) in ({IMPLICIT}, {NESTED}, {IMPLICIT, NESTED})


Group: TypeAlias = Mapping[SchemaKind, Overload]
"""The overloads of one signature, by their kind (torchgen/native_function_generation.py
`pre_group_native_functions`)."""


class Generated(NamedTuple):
    """A registration in generated code."""

    dispatch_key: str
    file: str
    """In the folder of generated code: `RegisterCPU.cpp`, `VariableType_3.cpp`."""


def generated_registrations(
    overload: Overload, group: Group, views: Mapping[str, Overload], rules: Torchgen
) -> tuple[Generated, ...]:
    """All of one overload, in the order in which the dispatcher lists keys of each generated file.

    `group` has the overloads of its signature, itself included; `views` the view operator that
    an overload is the generated copy of, by the copy's name.
    """
    found = list(_kernels(overload, group, rules))
    stem, cpp_name = root_name(overload.schema), _cpp_name(overload.schema)
    by_hand = cpp_name in rules.manual_autograd
    if _needs_backend_select(overload.schema):
        found.append(Generated("BackendSelect", "RegisterBackendSelect.cpp"))
    if _functionalized(overload, group, rules):
        found.append(_sharded("Functionalize", "RegisterFunctionalization", stem, rules))
    keys, has_formula = _derivative(overload, group, views)
    if not by_hand and (has_formula or not overload.composite):
        if _tracks_views(overload, cpp_name, rules):
            found.append(_sharded("ADInplaceOrView", "ADInplaceOrViewType", stem, rules))
        autograd = ("Autograd" if key == DEFAULT else key for key in keys or (DEFAULT,))
        found.extend(_sharded(key, "VariableType", cpp_name, rules) for key in autograd)
    if not by_hand:
        found.append(_sharded("Tracer", "TraceType", stem, rules))
    return tuple(found)


def groups(overloads: Iterable[Overload]) -> dict[str, Group]:
    """The group of each overload, by its name."""
    by_signature: dict[tuple[object, ...], dict[SchemaKind, Overload]] = {}
    for overload in overloads:
        by_signature.setdefault(signature(overload.schema), {}).setdefault(overload.schema.kind, overload)
    return {member.name: group for group in by_signature.values() for member in group.values()}


def signature(schema: Schema) -> tuple[object, ...]:
    """What the functional, in-place, mutable and out= variants of one operator share: its stem, and
    the arguments without defaults, annotations and outs (`FunctionSchema.signature`)."""
    outs = schema.out_arguments
    return root_name(schema), *((str(a.type), a.name) for a in schema.arguments if a not in outs)


def root_name(schema: Schema) -> str:
    """An operator's name without what makes it in-place, or the functional one of a mutable: `add_` →
    add, `__iadd__` → add, `f_functional` → f (torchgen/model.py `BaseOperatorName.parse`)."""
    base = schema.name.base
    if base.startswith("__") and base.endswith("__"):
        inner = base.strip("_")
        return inner[1:] if schema.kind == "inplace" else inner
    return base[:-1] if schema.kind == "inplace" else base.removesuffix("_functional")


def view_copy_name(overload: Overload) -> str:
    """The copy of a view operator: `slice.Tensor` → `aten::slice_copy.Tensor`; '' if it is no view
    (torchgen/model.py `get_view_copy_name`)."""
    name = operator_name(overload.name)
    return str(name._replace(base=f"{name.base}_copy")) if is_view(overload) else ""


def is_view(overload: Overload) -> bool:
    """Whether the result shares memory with an argument (torchgen/model.py `NativeFunction.is_view_op`)."""
    schema = overload.schema
    shares = any(r.alias is not None and not r.alias.write for r in schema.returns)
    # `resize_` and its kin change the shape in place, but make no view.
    reshapes = "inplace_view" in overload.tags and overload.bare not in ("resize_", "resize_as_")
    wild = any(a.alias is not None and "*" in a.alias.after for a in schema.arguments)
    return shares or reshapes or wild


def _kernels(overload: Overload, group: Group, rules: Torchgen) -> Iterator[Generated]:
    """The kernels that files called after a dispatch key register."""
    if overload.manual_kernel:
        return
    keys = dict.fromkeys(overload.dispatch_keys)
    out = group.get("out")
    if (overload.structured or overload.delegate) and out is not None:
        keys.update(dict.fromkeys(k for k in out.dispatch_keys if k in rules.structured_keys))
        keys["Meta"] = None
        if overload.schema.kind in ("functional", "inplace"):
            keys[NON_FUNCTIONAL] = None
    elif _has_inplace_meta(overload):
        keys["Meta"] = None
    for key in keys:
        yield Generated(key, f"Register{key}.cpp")


def _has_inplace_meta(overload: Overload) -> bool:
    """An in-place operator without a meta kernel gets one that returns self
    (register_dispatch_key.py `gen_unstructured`)."""
    return (
        overload.schema.kind == "inplace"
        and len(overload.schema.returns) == 1
        and not {IMPLICIT, NESTED, EXPLICIT, NON_FUNCTIONAL, "Meta"}.intersection(overload.dispatch_keys)
    )


def _needs_backend_select(schema: Schema) -> bool:
    name = schema.name.base
    options = [a.name for a in schema.arguments if a.keyword_only]
    takes_options = {"dtype", "layout", "device", "pin_memory"}.issubset(options)
    return takes_options and not name.endswith("_like") and not name.startswith("new_")


def _functionalized(overload: Overload, group: Group, rules: Torchgen) -> bool:
    if IMPLICIT in overload.dispatch_keys:
        return False
    members = {member.bare for member in group.values()}
    if members.intersection(rules.functionalized_by_hand):
        return False
    if is_view(overload):
        return True
    grouped = "functional" in group and "out" in group
    if not grouped and overload.bare in rules.not_functionalized:
        return False
    return any(a.written for a in overload.schema.arguments)


def _derivative(
    overload: Overload, group: Group, views: Mapping[str, Overload]
) -> tuple[Collection[str], bool]:
    """The keys of the derivative that an overload uses, and whether it makes a node
    (torchgen/api/autograd.py `match_differentiability_info`)."""
    if overload.generated and overload.schema.kind == "out":
        return (), False
    candidates = [overload]
    functional = group.get("functional")
    if functional is not None and not overload.schema.name.base.startswith("_foreach_"):
        candidates.append(functional)
    if overload.generated:
        candidates.extend(member for member in group.values() if member.schema.kind != "functional")
    for candidate in candidates:
        if candidate.derivative:
            return candidate.derivative, candidate.has_formula
        view = views.get(candidate.name)
        if view is not None and view.derivative:
            # tools/autograd/load_derivatives.py `add_view_copy_derivatives`.
            return view.derivative, view.has_formula
    return (), False


def _tracks_views(overload: Overload, cpp_name: str, rules: Torchgen) -> bool:
    if cpp_name in rules.view_functions or overload.schema.name.base in rules.view_functions:
        return True
    return overload.schema.kind in ("inplace", "out") and bool(overload.schema.returns)


def _cpp_name(schema: Schema) -> str:
    return schema.name.base + ("_out" if schema.out_arguments else "")


def _sharded(key: str, file: str, name: str, rules: Torchgen) -> Generated:
    """torchgen/utils.py `string_stable_hash`: the same name, the same file, on every machine."""
    number = int.from_bytes(hashlib.sha1(name.encode("latin1"), usedforsecurity=False).digest(), "little")
    shards = rules.shards.get(file, 1)
    return Generated(key, f"{file}_{number % shards}.cpp" if shards > 1 else f"{file}.cpp")
