"""One entry of native_functions.yaml → an operator, its registrations and Python names.

What each field means is defined by torchgen/model.py (`NativeFunction.from_yaml`). Made here,
in this order, all of convention `native_functions`:

- `operator`, with the entry's other fields as `detail`, as written (`variants`, `tags` and
  `autogen` always as lists); `python_binding` for each variant; `operator` for each `autogen` name;
- `registration` for each dispatch key; for `ufunc_inner_loop` also the stub and its kernels,
  which torchgen generates and no C++ file of the tree defines.

Unknown fields are kept in `detail` and are a Problem. Tests: `tests/test_op_schema.py`.
"""

from __future__ import annotations

import re
from typing import Any

from torchtalkd import keys
from torchtalkd.facts import Definition
from torchtalkd.parse.entry_facts import EntryFacts, field_line
from torchtalkd.parse.yaml_entries import Entry, Mapping, Node, Scalar, value

CONVENTION = "native_functions"

KNOWN_FIELDS = frozenset(
    [
        "func",
        "variants",
        "dispatch",
        "autogen",
        "tags",
        "structured",
        "structured_delegate",
        "structured_inherits",
        "precomputed",
        "ufunc_inner_loop",
        "python_module",
        "category_override",
        "device_check",
        "device_guard",
        "manual_cpp_binding",
        "manual_kernel_registration",
        "cpp_no_default_args",
        "use_const_ref_for_mutable_tensors",
        "kernels",
        "type_alias",
        "dim_order_alias",
    ]
)
"""The fields of torchgen/model.py; the last three are of torchgen/executorch/parse.py."""

_NAME = re.compile(r"(?:::)?(?:[A-Za-z_]\w*::)*[A-Za-z_]\w*")
_OPERATOR = re.compile(r"(?:[A-Za-z_]\w*::)*[A-Za-z_]\w*(?:\.\w+)?")
_KEY = re.compile(r"[A-Za-z]\w*")
_LISTS = ("variants", "tags", "autogen", "cpp_no_default_args")
_KEYWORD_ONLY = re.compile(r"[(,]\s*\*\s*,")
_RETURNS = re.compile(r"\)\s*->")
_WRITTEN = re.compile(r"\w(?:\([^()!]{1,80})?!")
_UFUNC_KEYS = {
    "CPU": re.compile(r"Generic|ScalarOnly|CPU\w+"),
    "CUDA": re.compile(r"Generic|ScalarOnly|CUDA\w+"),
}
"""Which ufunc keys make a kernel for which dispatch key (torchgen/model.py `UfuncKey`)."""


def add_operator(facts: EntryFacts, entry: Entry) -> None:
    """Adds what one entry says. An entry without a readable `func:` is a Problem and adds nothing."""
    fields = facts.fields(entry, "func", KNOWN_FIELDS)
    func = fields.get("func")
    name = facts.schema_name(func, entry, "func")
    if not name or not isinstance(func, Scalar):
        return
    line, column = facts.text.place(func)
    detail = {
        field: _detail(field, node)
        for field, node in fields.items()
        if field not in ("func", "dispatch", "kernels")
    }
    operator = facts.define(
        Definition(
            keys.op(name),
            name,
            "operator",
            field_line(entry, "func"),
            column if line == field_line(entry, "func") else 0,
            entry.end_line,
            signature=func.value,
            convention=CONVENTION,
            detail=detail or None,
        )
    )
    _add_python_names(facts, operator, detail, func)
    _add_autogen(facts, operator, fields.get("autogen"))
    dispatch = fields.get("dispatch")
    if dispatch is not None and value(dispatch) is not None:
        _add_dispatch(facts, operator, dispatch)
    elif not any(
        detail.get(field) for field in ("structured", "structured_delegate", "manual_kernel_registration")
    ):
        _add_implicit(facts, operator, func)
    if "ufunc_inner_loop" in fields:
        _add_ufunc(facts, operator, fields["ufunc_inner_loop"])


def _detail(field: str, node: Node) -> Any:
    plain = value(node)
    if field not in _LISTS or isinstance(plain, list):
        return plain
    return [part.strip() for part in plain.split(",") if part.strip()] if isinstance(plain, str) else []


def _add_python_names(facts: EntryFacts, operator: int, detail: dict[str, Any], func: Scalar) -> None:
    """`torch.add`, `torch.Tensor.add`, `torch._C._nn.gelu`: overloads and out= share their operator's name.

    Operators of other namespaces have none: they are reached by `torch.ops` alone.
    """
    definition = facts.definitions[operator]
    namespace, base, _ = keys.operator_name(definition.name)
    if namespace != facts.conventions.rules.operator_namespace:
        return
    module = detail.get("python_module")
    holders = facts.conventions.operators
    for variant in detail.get("variants", ["function"]):
        if variant == "method":
            holder = holders.methods_class
        elif variant == "function" and isinstance(module, str):
            holder = facts.conventions.rules.python_modules.get(
                module, f"{holders.functions_module}._C._{module}"
            )
        elif variant == "function":
            holder = holders.functions_module
        else:
            facts.problem(
                definition.line,
                f"`variants:` of {definition.name}: {variant!r} is neither function nor method",
            )
            continue
        python = f"{holder}.{base}"
        binding = facts.define(
            Definition(
                keys.py(python),
                python,
                "python_binding",
                definition.line,
                definition.column,
                definition.end_line,
                scope=operator,
                convention=CONVENTION,
            )
        )
        facts.target(binding, definition.key, definition.name, facts.text.place(func))


def _add_autogen(facts: EntryFacts, operator: int, node: Node | None) -> None:
    """The operators that torchgen makes of this one, at their place in the `autogen:` line."""
    definition = facts.definitions[operator]
    if not isinstance(node, Scalar):
        if node is not None and value(node) is not None:
            facts.problem(
                definition.line, f"`autogen:` of {definition.name} must be names with commas between"
            )
        return
    for written, line, column in facts.text.words(node):
        if not _OPERATOR.fullmatch(written):
            facts.problem(line, f"`autogen:` of {definition.name}: {written[:80]!r} is no operator's name")
            continue
        name = facts.qualified(written)
        facts.define(
            Definition(
                keys.op(name),
                name,
                "operator",
                line,
                column,
                definition.end_line,
                convention=CONVENTION,
                detail={"autogen_of": definition.name},
            )
        )


def _add_dispatch(facts: EntryFacts, operator: int, node: Node) -> None:
    definition = facts.definitions[operator]
    if not isinstance(node, Mapping):
        facts.problem(definition.line, f"`dispatch:` of {definition.name} must be lines of `Key: kernel`")
        return
    seen: set[str] = set()
    for names, kernel in node.items:
        if (
            not isinstance(names, Scalar)
            or not isinstance(kernel, Scalar)
            or not _NAME.fullmatch(kernel.value.strip())
        ):
            line = names.line if isinstance(names, Scalar) else node.line
            facts.problem(line, f"`dispatch:` of {definition.name}: a line must be `Key: kernel`")
            continue
        target = kernel.value.strip()
        place = facts.text.place(kernel, target)
        for key in (part.strip() for part in names.value.split(",")):
            if not _KEY.fullmatch(key):
                if key:
                    facts.problem(
                        names.line, f"`dispatch:` of {definition.name}: {key[:80]!r} is no dispatch key"
                    )
                continue
            if key in seen:
                facts.problem(names.line, f"`dispatch:` of {definition.name} names {key} twice")
            seen.add(key)
            _register(facts, operator, key, [target], place, kernel.end_line)


def _add_implicit(facts: EntryFacts, operator: int, func: Scalar) -> None:
    """No `dispatch:`: one composite kernel of the operator's own name, `_out` appended for out= variants
    (torchgen/api/cpp.py `name`)."""
    base = keys.operator_name(facts.definitions[operator].name).base
    star = _KEYWORD_ONLY.search(func.value)
    keyword_only = _RETURNS.split(func.value[star.end() :], maxsplit=1)[0] if star else ""
    kernel = f"{base}_out" if _WRITTEN.search(keyword_only) else base
    key = facts.conventions.rules.default_dispatch
    _register(facts, operator, key, [kernel], facts.text.place(func), func.end_line, {"implicit": True})


def _register(
    facts: EntryFacts,
    operator: int,
    dispatch_key: str,
    targets: list[str],
    place: tuple[int, int],
    end_line: int,
    detail: dict[str, Any] | None = None,
) -> None:
    definition = facts.definitions[operator]
    registration = facts.define(
        Definition(
            definition.key,
            definition.name,
            "registration",
            *place,
            end_line,
            scope=operator,
            dispatch_key=dispatch_key,
            convention=CONVENTION,
            detail=detail,
        )
    )
    for target in targets:
        facts.target(registration, keys.cpp(target), target, place)


def _add_ufunc(facts: EntryFacts, operator: int, node: Node) -> None:
    """`ufunc_inner_loop:`: for CPU and CUDA torchgen (torchgen/dest/ufunc.py) writes a kernel that calls the
    templates `ufunc::<name>`; the stub `<operator>_stub` between them is also only generated."""
    definition = facts.definitions[operator]
    written = [(None, node)] if isinstance(node, Scalar) else node.items if isinstance(node, Mapping) else []
    loops: list[tuple[str, str, Scalar]] = []
    for key, loop in written:
        if isinstance(loop, Scalar) and (key is None or isinstance(key, Scalar)):
            name = loop.value.partition("(")[0].strip()
            if _NAME.fullmatch(name):
                loops.append((key.value if isinstance(key, Scalar) else "Generic", name, loop))
                continue
        facts.problem(
            node.line, f"`ufunc_inner_loop:` of {definition.name}: a line must be `Key: name (types)`"
        )
    if not loops:
        return
    stub = f"at::native::{keys.operator_name(definition.name).base}_stub"
    place = facts.text.place(loops[0][2])
    facts.define(
        Definition(
            keys.cpp(stub),
            stub,
            "stub",
            *place,
            loops[-1][2].end_line,
            convention=CONVENTION,
            detail={"ufunc": "stub"},
        )
    )
    for dispatch_key, belongs in _UFUNC_KEYS.items():
        chosen: dict[str, list[str]] = {}
        places: dict[str, tuple[int, int]] = {}
        for ufunc_key, name, loop in loops:
            if belongs.fullmatch(ufunc_key):
                chosen.setdefault(name, []).append(ufunc_key)
                places.setdefault(name, facts.text.place(loop, name))
        for name, ufunc_keys in chosen.items():
            detail = {"ufunc": ", ".join(ufunc_keys)}
            loop_name = f"ufunc::{name}"
            targets = [loop_name, stub] if dispatch_key == "CPU" else [loop_name]
            _register(facts, operator, dispatch_key, targets, places[name], places[name][0], detail)
            kernel = facts.define(
                Definition(
                    keys.cpp(stub),
                    stub,
                    "stub_kernel",
                    *places[name],
                    places[name][0],
                    dispatch_key=dispatch_key,
                    convention=CONVENTION,
                    detail=detail,
                )
            )
            facts.target(kernel, keys.cpp(loop_name), loop_name, places[name])
