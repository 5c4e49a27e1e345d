"""What one operator's name stands for: its overloads, the structured group of each, its derivative.

The rules are torchgen's: how entries of native_functions.yaml form a group
(torchgen/gen.py `get_grouped_native_functions`), which C++ names are made of an entry
(torchgen/api/cpp.py `name`, torchgen/api/meta.py `name`), which entry of derivatives.yaml
belongs to it and how its autograd node is called (tools/autograd/load_derivatives.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from torchtalkd import keys
from torchtalkd.facts import FiledDefinition
from torchtalkd.link import targets
from torchtalkd.link.source import Facts

_DEFINES = ("operator", "schema")
_KNOWN = (*_DEFINES, "registration", "meta")
_DISPATCHED = re.compile(
    r"at::(?:_ops|redispatch|cpu|cuda|meta|compositeimplicitautograd|compositeexplicitautograd\w*)::"
)


class Family(NamedTuple):
    """All overloads of one operator: a packet `namespace::base`."""

    namespace: str
    base: str
    entries: tuple[FiledDefinition, ...]
    """Its schemas: entries of native_functions.yaml and what they generate, m.def in code."""

    @property
    def name(self) -> str:
        """`aten::add`."""
        return f"{self.namespace}::{self.base}" if self.namespace else self.base

    @property
    def overloads(self) -> tuple[str, ...]:
        """`aten::add.Tensor`, …; each once, in the order of the text."""
        return tuple(dict.fromkeys(self.full_name(entry) for entry in self.entries))

    def full_name(self, entry: FiledDefinition) -> str:
        """An entry's name, in this namespace also where its own is still to be known."""
        name = keys.operator_name(entry.fact.name)
        return str(name._replace(namespace=self.namespace)) if is_hole(name.namespace) else entry.fact.name


def families(facts: Facts, base: str) -> list[Family]:
    """The operators called `base`, one for each namespace; that of the rules first.

    An operator that is only registered, or has a meta function in Python, and is never declared
    (its schema is in another tree), counts. Kept with the facts.
    """
    kept: dict[str, list[Family]] = facts.kept.setdefault("families", {})
    found = kept.get(base)
    if found is None:
        found = kept[base] = _families(facts, base)
    return found


def _families(facts: Facts, base: str) -> list[Family]:
    found: dict[str, list[FiledDefinition]] = {}
    registered: dict[str, None] = {}
    for definition in facts.definitions(keys.op(base)):
        fact = definition.fact
        if fact.kind not in _KNOWN or not targets.is_built(facts, definition.file):
            continue
        for namespace in namespaces(facts, definition):
            if fact.kind in _DEFINES:
                found.setdefault(namespace, []).append(definition)
            elif namespace:
                registered.setdefault(namespace)
    for namespace in registered:
        found.setdefault(namespace, [])
    for hole in [namespace for namespace in found if is_hole(namespace)]:
        # `{TORCH_EXTENSION_NAME}::f` may be any extension's f: where one is known, it is that.
        known = [n for n, entries in found.items() if not is_hole(n) and not _of_yaml(entries)]
        if known:
            entries = found.pop(hole)
            for namespace in known:
                found[namespace].extend(entries)
    first = facts.rules.operator_namespace
    return [
        Family(namespace, base, tuple(sorted(entries, key=_in_text)))
        for namespace, entries in sorted(found.items(), key=lambda item: (item[0] != first, item[0]))
    ]


def namespaces(facts: Facts, definition: FiledDefinition) -> tuple[str, ...]:
    """The namespaces of the operator that a schema or registration is for: that which is written; for a
    macro those of the targets that compile its file, or the macro itself where no build file says."""
    written = keys.operator_name(definition.fact.name).namespace
    if not is_hole(written):
        return (written,)
    return targets.names(facts, definition.file, written) or (written,)


def _of_yaml(entries: Iterable[FiledDefinition]) -> bool:
    return any(entry.fact.kind == "operator" for entry in entries)


def is_hole(namespace: str) -> bool:
    """Whether a namespace is a macro whose value another file says."""
    return targets.is_hole(namespace)


def _in_text(definition: FiledDefinition) -> tuple[bool, str, int, int]:
    generated = bool(definition.fact.detail and "autogen_of" in definition.fact.detail)
    return generated, definition.file.path, definition.fact.line, definition.fact.column


def family(facts: Facts, name: str) -> Family | None:
    """The operator with a name; overload and a missing namespace do not matter."""
    wanted = keys.operator_name(name)
    namespace = wanted.namespace or facts.rules.operator_namespace
    found = families(facts, wanted.base)
    exact = next((f for f in found if f.namespace == namespace), None)
    if exact is None and wanted.namespace and not facts.keys_of_kind("operator"):
        # In a tree without yaml any namespace may be what the macro stands for.
        exact = next((f for f in found if is_hole(f.namespace)), None)
    return exact


def entry(facts: Facts, name: str) -> FiledDefinition | None:
    """The schema of an overload by its full name, namespace included."""
    for definition in facts.definitions(keys.op(name)):
        if definition.fact.name == name and definition.fact.kind in _DEFINES:
            return definition
    return None


def delegate(facts: Facts, overload: FiledDefinition) -> FiledDefinition | None:
    """The out= overload whose structured kernel serves an overload; itself, if that is it."""
    detail = overload.fact.detail or {}
    if detail.get("structured"):
        return overload
    written = detail.get("structured_delegate")
    if not isinstance(written, str):
        return None
    namespace = keys.operator_name(overload.fact.name).namespace
    return entry(facts, written if "::" in written else f"{namespace}::{written}")


def functional(facts: Facts, out: FiledDefinition) -> FiledDefinition | None:
    """The functional overload of a structured group: it delegates to `out` and changes nothing
    in place. Its name is that of the group's meta function."""
    for definition in facts.definitions(out.fact.key):
        detail = definition.fact.detail or {}
        if definition.fact.kind != "operator" or "structured_delegate" not in detail:
            continue
        found = delegate(facts, definition)
        if found is not None and found.id == out.id and "!" not in definition.fact.signature:
            return definition
    return None


def meta_name(overload: FiledDefinition) -> str:
    """What TORCH_META_FUNC is called with for a group's functional overload: `add.Tensor` →
    add_Tensor (torchgen/api/meta.py)."""
    name = keys.operator_name(overload.fact.name)
    return f"{name.base}_{name.overload}" if name.overload else name.base


def derivatives(facts: Facts, overload: FiledDefinition) -> list[FiledDefinition]:
    """The entries of derivatives.yaml for an overload.

    By its own name; else, as an in-place or out= variant, by that of the functional overload of
    equal signature (load_derivatives.py matches on `FunctionSchema.signature`).
    """
    found = _derivatives(facts, overload.fact.key, overload.fact.name)
    if found or "!" not in overload.fact.signature:
        return found
    name = keys.operator_name(overload.fact.name)
    base = name.base[:-1] if name.base.endswith("_") and not name.base.endswith("__") else name.base
    wanted = essence(overload.fact.signature)
    for definition in facts.definitions(keys.op(base)):
        fact = definition.fact
        if fact.kind == "operator" and "!" not in fact.signature and fact.signature:
            same = (
                keys.operator_name(fact.name).namespace == name.namespace
                and essence(fact.signature) == wanted
            )
            if same:
                return _derivatives(facts, fact.key, fact.name)
    return []


def _derivatives(facts: Facts, key: str, name: str) -> list[FiledDefinition]:
    return [d for d in facts.definitions(key) if d.fact.kind == "derivative" and d.fact.name == name]


def essence(schema: str) -> tuple[str, ...]:
    """The parameters that functional, in-place and out= variants of one operator share:
    types and names without defaults, annotations and what is written to
    (torchgen/model.py `FunctionSchema.signature`)."""
    begin, end = schema.find("("), schema.rfind("->")
    inner = schema[begin + 1 : end].strip().removesuffix(")") if end > 0 else schema[begin + 1 :]
    found = []
    keyword = False
    for parameter in split(inner):
        if parameter == "*":
            keyword = True
            continue
        if keyword and "!" in parameter:
            continue
        found.append(re.sub(r"\([a-z]\w*[!|]*[^)]*\)", "", parameter.partition("=")[0]).strip())
    return tuple(found)


def split(parameters: str) -> list[str]:
    """A parameter list at its top-level commas."""
    found, depth, text = [], 0, ""
    for character in parameters:
        if character == "," and depth == 0:
            found.append(text.strip())
            text = ""
            continue
        depth += (character in "([{<") - (character in ")]}>")
        text += character
    return [*found, text.strip()] if text.strip() else found


def node_stem(base: str) -> str:
    """The name of an operator's autograd node without its number: `mul` → MulBackward
    (load_derivatives.py `_create_op_prefix`)."""
    camel = "".join(part.title() for part in base.split("_"))
    return f"{camel}Backward".replace("ForwardBackward", "Backward")


def nodes(facts: Facts, name: str) -> list[FiledDefinition]:
    """The derivative that makes an autograd node: `MulBackward0` → that of mul.Tensor.

    Entries of one stem are numbered in the order of the file; those without a formula make no
    node. Without a number: all of the stem.
    """
    if "Backward" not in name or not name[:1].isupper():
        return []
    stem = name.rstrip("0123456789")
    number = name[len(stem) :]
    ordered = _numbered(facts).get(stem, [])
    if not number:
        return ordered
    return ordered[int(number) : int(number) + 1]


def node_name(facts: Facts, derivative: FiledDefinition) -> str:
    """The autograd node that a derivative makes, '' if none: mul.Tensor → MulBackward0."""
    stem = node_stem(keys.operator_name(derivative.fact.name).base)
    for number, other in enumerate(_numbered(facts).get(stem, [])):
        if other.id == derivative.id:
            return f"{stem}{number}"
    return ""


def _numbered(facts: Facts) -> dict[str, list[FiledDefinition]]:
    found: dict[str, list[FiledDefinition]] | None = facts.kept.get("nodes")
    if found is None:
        found = {}
        for derivative in facts.definitions_of_kind("derivative"):
            if makes_node(derivative):
                found.setdefault(node_stem(keys.operator_name(derivative.fact.name).base), []).append(
                    derivative
                )
        facts.kept["nodes"] = found
    return found


def makes_node(derivative: FiledDefinition) -> bool:
    """Whether an entry has a formula for one of its inputs: what says `non_differentiable`, or a
    formula of the result alone (forward mode), makes no node."""
    formulas = (derivative.fact.detail or {}).get("formulas") or {}
    named = {re.split(r"\s+", p.partition("=")[0].strip())[-1] for p in inputs(derivative.fact.signature)}
    for names, formula in formulas.items():
        of_input = {name.strip() for name in names.split(",")} & named
        if of_input and formula != "non_differentiable":
            return True
    return False


def inputs(schema: str) -> list[str]:
    """The parameters of a schema as written, the `*` before those that are named among them."""
    begin, end = schema.find("("), schema.rfind("->")
    return split(schema[begin + 1 : end].strip().removesuffix(")"))


def is_out(overload: FiledDefinition) -> bool:
    """Whether an overload writes to an argument behind the `*` (torchgen/model.py
    `FunctionSchema.is_out_fn`). One that `autogen` makes has no schema: its name says it."""
    schema = overload.fact.signature
    if not schema:
        return keys.operator_name(overload.fact.name).overload.endswith("out")
    keyword = False
    for parameter in inputs(schema):
        keyword = keyword or parameter == "*"
        if keyword and "!" in parameter:
            return True
    return False


def readings(facts: Facts, last: str) -> list[tuple[str, str | None]]:
    """The operators that a generated C++ function's last component can be made from, as (base,
    overload): overload None for all, `*out` for the out= ones. `add` → add; `add_out` and
    `add_outf` → add, out=; `add_Tensor` → add.Tensor. Longest base first."""
    found: list[tuple[str, str | None]] = [(last, None)]
    found.extend(
        (last.removesuffix(suffix), "*out" if "_out" in suffix else None)
        for suffix in ("_symint", "_out", "_outf", "_out_symint")
        if last.endswith(suffix)
    )
    found.extend(
        (last[:at], last[at + 1 :])
        for at in range(len(last) - 1, 0, -1)
        if last[at] == "_" and at + 1 < len(last)
    )
    return [(base, overload) for base, overload in found if base and facts.count(keys.op(base))]


def generated_operator(name: str) -> str:
    """The last component that says which operator torchgen made a C++ name from, '' if it made
    it from none: `at::add`, `at::Tensor::add_`, `at::cpu::add_out`, `at::_ops::add_Tensor::call`.
    """
    parts = (f"at::{name}" if name.startswith("Tensor::") else name).split("::")
    if len(parts) < 2 or parts[0] not in ("at", "torch") or not all(parts):
        return ""
    if len(parts) == 2:
        return parts[1]
    if parts[1] == "_ops":
        return parts[2]
    if parts[1] in ("Tensor", "TensorBase") or _DISPATCHED.match(name):
        return parts[2] if len(parts) == 3 else ""
    return ""
