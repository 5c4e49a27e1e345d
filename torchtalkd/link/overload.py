"""Does a C++ definition have the parameters that an operator's schema demands: `matches`, `choose`.

Kernels are looked up by name, and one name often has several overloads. torchgen computes the
types that an operator's kernel must take (`codegen.native_signature`); here they are compared
with a definition's signature as the parser wrote it, `(const Tensor & self, int64_t dim) -> Tensor`.

Both sides are brought to one spelling first (`canonical`): `const`, `&`, namespaces, parameter
names and default values go; the names that PyTorch has for one thing become one. Lists are
`T[]`, whoever owns the elements: ArrayRef, std::vector, c10::List, TensorList, ITensorListRef;
optionals are `T?`. So `canonical` knows less than C++ does; two overloads that differ in
ownership alone are both `declared`.

Pure. Tests: `tests/test_overload.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Final, Literal, TypeAlias, TypeVar

from torchtalkd.codegen.native_signature import native_types
from torchtalkd.codegen.schema import SchemaError, parse_schema

Fit: TypeAlias = Literal["declared", "candidate", "no"]
"""`declared`: the parameter types are equal. `candidate`: as many parameters. `no`: not even that."""

Evidence: TypeAlias = Literal["declared", "unique", "candidate"]
"""How sure a choice is: as `Fit`, and `unique` for the only candidate."""

MAX_SIGNATURE: Final = 20_000
"""Characters of a signature that are read; no kernel's is longer."""
MAX_DEPTH: Final = 16
"""Templates nested deeper than that are compared as they are written."""

T = TypeVar("T")

_BUILT_IN = frozenset(
    ["unsigned", "signed", "long", "short", "int", "char", "double", "float", "bool", "void", "auto"]
)
_NOISE = re.compile(
    r"\[\[.*?\]\]"
    r"|\b(?:const|volatile|typename|struct|class|enum|register|constexpr|__restrict__|__restrict|C10_UNUSED)\b",
    re.DOTALL,
)
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*\n", re.DOTALL)
_TENSOR = re.compile(r"[A-Z]\w*Tensor")
_QUALIFIER = re.compile(r"(?:\b[A-Za-z_]\w*)?::")
_WHITE = re.compile(r"\s+")
_WORD = re.compile(r"[A-Za-z_]\w*")
_INTEGERS = {"long": "int64_t", "long long": "int64_t", "long int": "int64_t", "unsigned int": "unsigned"}

_SAME: Final = {
    "string_view": "string",
    "basic_string_view": "string",
    "IntArrayRef": "int64_t[]",
    "IntList": "int64_t[]",
    "SymIntArrayRef": "SymInt[]",
    "SymIntList": "SymInt[]",
    "DimnameList": "Dimname[]",
    "TensorList": "Tensor[]",
    "ITensorListRef": "Tensor[]",
    "MaterializedITensorListRef": "Tensor[]",
    "IOptTensorListRef": "Tensor?[]",
    "OptionalTensorRef": "Tensor?",
    "OptionalScalarRef": "Scalar?",
    "OptionalIntArrayRef": "int64_t[]?",
    "OptionalSymIntArrayRef": "SymInt[]?",
    "Variable": "Tensor",
    "VariableList": "Tensor[]",
    "variable_list": "Tensor[]",
}
"""Names of one thing: ATen/core/ATen_fwd.h, ATen/core/IListRef.h, c10/util/OptionalArrayRef.h,
torch/csrc/autograd/variable.h."""

_LISTS = frozenset(("ArrayRef", "vector", "List", "IListRef", "initializer_list", "HeaderOnlyArrayRef"))
_OPTIONALS = frozenset(("optional",))
_TRANSPARENT = frozenset(
    ("MaybeOwned", "intrusive_ptr", "reference_wrapper", "remove_reference_t", "decay_t")
)
"""Templates that stand for their argument."""


def matches(schema_signature_types: Sequence[str], cpp_parameter_list_text: str) -> Fit:
    """How a definition's signature text fits the parameter types that a schema demands.

    Text that does not tell the parameters is a `candidate` of everything: none in parentheses, or
    a `//` comment whose end is lost with the line's.
    """
    if "(" not in cpp_parameter_list_text or "//" in _COMMENT.sub(" ", cpp_parameter_list_text):
        return "candidate"
    parameters = parameter_types(cpp_parameter_list_text)
    if len(parameters) != len(schema_signature_types):
        return "no"
    demanded = tuple(canonical(type_) for type_ in schema_signature_types)
    return "declared" if demanded == parameters else "candidate"


def choose(
    candidates: Iterable[T], schema: str, kernel_name: str, signature: Callable[[T], str]
) -> list[tuple[T, Evidence]]:
    """Those of several definitions of one name that an operator's schema can mean, with evidence.

    Equal types win (`declared`: all that have them, as the same function may be defined under
    several guards). Else those with as many parameters: `unique` if it is one, else
    `candidate`. Definitions with another number of parameters are never meant. Of a
    schema that cannot be read every definition is a candidate. `signature` gives a candidate's text.
    """
    found = list(candidates)
    try:
        read = parse_schema(schema)
    except SchemaError:
        return [(candidate, "unique" if len(found) == 1 else "candidate") for candidate in found]
    demanded = native_types(read, symint="_symint" in kernel_name)
    return best(found, demanded, signature)


def best(
    candidates: Iterable[T], demanded: Sequence[str], signature: Callable[[T], str]
) -> list[tuple[T, Evidence]]:
    """As `choose`, with the types that are demanded; also for `meta_types` and `impl_types`."""
    fits = [(candidate, matches(demanded, signature(candidate))) for candidate in candidates]
    declared: list[tuple[T, Evidence]]
    declared = [(candidate, "declared") for candidate, fit in fits if fit == "declared"]
    if declared:
        return declared
    possible = [candidate for candidate, fit in fits if fit == "candidate"]
    return [(candidate, "unique" if len(possible) == 1 else "candidate") for candidate in possible]


@lru_cache(maxsize=8192)
def parameter_types(text: str) -> tuple[str, ...]:
    """The canonical types of a signature's parameters, in order; `(void)` and `()` have none."""
    inside = _first_parentheses(_COMMENT.sub(" ", text[:MAX_SIGNATURE]))
    parts = [part for part in _split(inside) if part.strip()]
    if [part.strip() for part in parts] == ["void"]:
        return ()
    return tuple(_canonical_parameter(part) for part in parts)


@lru_cache(maxsize=8192)
def canonical(type_text: str) -> str:
    """One spelling for a C++ type: `const std::optional<at::Tensor> &` → `Tensor?`."""
    return _fold(_WHITE.sub(" ", _NOISE.sub(" ", type_text)).strip())


def _canonical_parameter(text: str) -> str:
    text = _before_default(_NOISE.sub(" ", text))
    text = _WHITE.sub(" ", text).strip()
    return _fold(_without_name(text))


def _fold(text: str, depth: int = 0) -> str:
    """Canonical spelling of a type without noise: outermost template first, then its arguments."""
    text = _QUALIFIER.sub("", text).replace("&", "").strip()
    head, opened, rest = text.partition("<")
    if not opened or depth > MAX_DEPTH:
        text = " ".join(text.split())
        pointer = text.count("*")
        text = text.replace("*", "").strip()
        if _TENSOR.fullmatch(text):
            # SparseTensor, SparseCsrTensor and their like are file-local names of Tensor.
            text = "Tensor"
        return _SAME.get(text, _INTEGERS.get(text, text)) + "*" * pointer
    head = head.strip()
    inner, _, after = rest.rpartition(">")
    arguments = [_fold(part.strip(), depth + 1) for part in _split(inner)]
    if head == "OptionalArrayRef":
        folded = f"{arguments[0]}[]?"
    elif head in _LISTS:
        folded = f"{arguments[0]}[]"
    elif head in _OPTIONALS:
        folded = f"{arguments[0]}?"
    elif head in _TRANSPARENT:
        folded = arguments[0]
    else:
        folded = f"{head}<{','.join(arguments)}>"
    return folded + after.replace(" ", "")


def _without_name(text: str) -> str:
    """`Tensor & self` → `Tensor &`; `unsigned int` and `Tensor` stay."""
    text, bracket, _ = text.partition("[")
    text = text.rstrip()
    pointer = "*" if bracket else ""  # `char x[3]` is a pointer
    words = list(_WORD.finditer(text))
    if not words or words[-1].end() != len(text):
        return text + pointer
    name = words[-1]
    before = text[: name.start()].rstrip()
    if not before or before.endswith("::") or name[0] in _BUILT_IN:
        return text + pointer
    return before + pointer


def _before_default(text: str) -> str:
    """A parameter without its default value."""
    return _cut(text, "=")[0]


def _first_parentheses(text: str) -> str:
    """What stands in the first pair of parentheses; to the end where it does not close."""
    begin = text.find("(") + 1
    depth = 0
    for position in range(begin, len(text)):
        if text[position] == "(":
            depth += 1
        elif text[position] == ")":
            if depth == 0:
                return text[begin:position]
            depth -= 1
    return text[begin:]


def _split(text: str) -> list[str]:
    """The parts between commas that stand in no brackets."""
    return _cut(text, ",")


def _cut(text: str, mark: str) -> list[str]:
    """The parts between marks outside all brackets. A `<` that nothing closes, and a `>` that closes
    none, are comparisons: a round, square or curly bracket ends them."""
    parts: list[str] = []
    opened: list[str] = []
    begin = 0
    for position, character in enumerate(text):
        if character in "<([{":
            opened.append(character)
        elif character == ">":
            if opened[-1:] == ["<"]:
                opened.pop()
        elif character in ")]}":
            while opened and opened.pop() == "<":
                pass
        elif character == mark and not opened:
            parts.append(text[begin:position])
            begin = position + 1
    parts.append(text[begin:])
    return parts
