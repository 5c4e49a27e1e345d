"""What one decorator adds to the name of a test: `_add_float32`, `_n_3`, `[3-x]`. Pure.

See `link.test_ids`, which puts them together.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import product
from typing import Any, Final, NamedTuple

from torchtalkd import keys
from torchtalkd.facts import TestRules
from torchtalkd.link.expression_values import UNDEFINED, UNKNOWN, Called, Named, Opaque
from torchtalkd.link.source import Facts
from torchtalkd.link.test_entries import Entry, types_of
from torchtalkd.link.test_functions import Case, Test, call_of, cases_of, listed
from torchtalkd.link.test_lists import Names

ANY: Final = "*"
"""In a pattern, what is not known."""


class Suffix(NamedTuple):
    """A part of a test's name."""

    text: str
    dtype: str
    """What stands behind the device: `float32`; '' for nothing."""
    why: str
    """Why it is not certain, '' if it is."""


def suffixes_of(
    facts: Facts, test: Test, case: Case, device: str, wanted: frozenset[int] | None
) -> list[Suffix]:
    """The parts that a decorator makes, of a test over a list for some entries only."""
    names = Names(facts, test.definition.file)
    call = call_of(case.text)
    match case.form:
        case "ops" | "modules" | "optims":
            return list(_over_list(facts, test, case, names, call, device, wanted))
        case "parametrize":
            return _parametrized(facts.rules.tests, names, call)
        case "dtypes":
            special = next((c for c in test.cases if c.form == f"dtypes_{device}"), None)
            return _typed(facts.rules.tests, names, call_of((special or case).text))
        case "unknown":
            return [Suffix(ANY, "", f"what @{_head(case.text)} makes is not worked out")]
    return [Suffix("", "", "")]


def _over_list(
    facts: Facts,
    test: Test,
    case: Case,
    names: Names,
    call: ast.Call | None,
    device: str,
    wanted: frozenset[int] | None,
) -> Iterator[Suffix]:
    selection = listed(facts, test.definition.file, case)
    why = ""
    if not selection.certain:
        why = f"which entries @{_head(case.text)} selects is not worked out"
    if selection.everything and wanted is None:
        yield Suffix(ANY, "", why)
        return
    for entry in selection.entries:
        if wanted is None or entry.definition.id in wanted:
            yield from _of_entry(facts.rules.tests, case.form, entry, names, call, device, why)


def _of_entry(
    rules: TestRules, form: str, entry: Entry, names: Names, call: ast.Call | None, device: str, why: str
) -> Iterator[Suffix]:
    text = entry.formatted_name
    if form == "modules":
        modes = _modes(entry, names, call)
        types = _module_types(rules, entry, names, call, device)
        if modes is None:
            yield Suffix(f"{text}{ANY}", "", f"whether {entry.name} differs in training is not known")
            return
        for mode in modes:
            yield from _with_types(f"{text}{mode}", types, why, entry)
        return
    if form == "optims":
        given = names.argument(call, "dtypes")
        found = frozenset(("float32",)) if given in (UNDEFINED, None) else types_of(given, rules)
        yield from _with_types(text, found, why, entry)
        return
    yield from _with_types(text, _types(rules, entry, names, call, device), why, entry)


def _with_types(text: str, types: frozenset[str] | None, why: str, entry: Entry) -> Iterator[Suffix]:
    if types is None:
        yield Suffix(text, ANY, why or f"the types of {entry.full_name} are not worked out")
        return
    for dtype in sorted(types):
        yield Suffix(text, dtype, why)


def _types(
    rules: TestRules, entry: Entry, names: Names, call: ast.Call | None, device: str
) -> frozenset[str] | None:
    """The types that `@ops` makes tests for: OpDTypes in common_device_type.py."""
    wanted, allowed = names.argument(call, "dtypes"), names.argument(call, "allowed_dtypes")
    if wanted is UNDEFINED:
        wanted = Named("OpDTypes.supported")
    if isinstance(wanted, Named):
        found = _chosen_types(rules, entry, wanted.name.rpartition(".")[2], device)
    else:
        found = types_of(wanted, rules) if isinstance(wanted, (list, tuple)) else None
    if allowed is UNDEFINED or allowed is None or found is None:
        return found
    given = types_of(allowed, rules)
    return None if given is None else found & given if found != {""} else frozenset()


def _chosen_types(rules: TestRules, entry: Entry, which: str, device: str) -> frozenset[str] | None:
    if which == "none":
        return frozenset(("",))
    supported = _supported(entry, "dtypes", device)
    backward = _backward(rules, entry, device)
    if which == "supported":
        return supported
    if which == "supported_backward":
        return backward
    if which in ("unsupported", "unsupported_backward"):
        taken = supported if which == "unsupported" else backward
        whole = frozenset(rules.dtypes.get("get_all_dtypes", ()))
        return None if taken is None or not whole else whole - taken
    if supported is None:
        return None
    if which == "any_one":
        both = None if backward is None else supported & backward
        return None if both is None else _first(rules, both or supported)
    if which == "any_common_cpu_cuda_one":
        cuda = _supported(entry, "dtypes", "cuda")
        return None if cuda is None else _first(rules, supported & cuda)
    return None


def _first(rules: TestRules, types: frozenset[str]) -> frozenset[str]:
    return frozenset(next(((dtype,) for dtype in rules.dtype_order if dtype in types), ()))


def _supported(entry: Entry, argument: str, device: str) -> frozenset[str] | None:
    """The types of an entry on a device: those that it says for it, else those on the CPU."""
    if device and device != "cpu":
        said = entry.attribute(f"{argument}If{device.upper()}")
        if said is not UNKNOWN and said is not None:
            return entry.dtypes(f"{argument}If{device.upper()}")
        if f"{argument}If{device.upper()}" in (entry.definition.fact.detail or {}).get("said", {}):
            return None
    return entry.dtypes(argument)


def _backward(rules: TestRules, entry: Entry, device: str) -> frozenset[str] | None:
    autograd = entry.attribute("supports_autograd")
    if autograd is False:
        return frozenset()
    found = _supported(entry, "backward_dtypes", device)
    return None if found is None or autograd is not True else found & frozenset(rules.backward_dtypes)


def _modes(entry: Entry, names: Names, call: ast.Call | None) -> list[str] | None:
    """`_train_mode` and `_eval_mode` for a module that differs in them (common_modules.py `modules`)."""
    given, differs = names.argument(call, "train_eval_mode"), entry.attribute("train_and_eval_differ")
    if differs is False:
        return [""]
    if given is UNDEFINED:
        return ["_train_mode", "_eval_mode"] if differs is True else None
    one = isinstance(given, Named) and given.name.endswith(("train_only", "eval_only"))
    return [""] if one else None if differs is not True else ["_train_mode", "_eval_mode"]


def _module_types(
    rules: TestRules, entry: Entry, names: Names, call: ast.Call | None, device: str
) -> frozenset[str] | None:
    allowed = names.argument(call, "allowed_dtypes")
    found = entry.dtypes("dtypesIfMPS") if device == "mps" else entry.dtypes()
    if allowed is UNDEFINED or allowed is None or found is None:
        return found
    given = types_of(allowed, rules)
    return None if given is None else found & given


def _typed(rules: TestRules, names: Names, call: ast.Call | None) -> list[Suffix]:
    """`@dtypes(torch.float32, (torch.int, torch.long))`: one test for each, a tuple for several at once."""
    if call is None:
        return [Suffix("", ANY, "the types are not written out")]
    values = names.items(call.args)
    if values is None:
        return [Suffix("", ANY, "the types are not written out")]
    found = []
    for value in values:
        several = value if isinstance(value, (list, tuple)) else (value,)
        types = [types_of(one, rules) for one in several]
        if None in types:
            return [Suffix("", ANY, "the types are not written out")]
        found.append(Suffix("", "_".join(name for one in types if one for name in one), ""))
    return found


def _parametrized(rules: TestRules, names: Names, call: ast.Call | None) -> list[Suffix]:
    """`@parametrize("a,b", [(1, 2), subtest((3, 4), name="x")])` of common_utils.py."""
    said, values = names.argument(call, 0), names.argument(call, 1)
    if said is UNDEFINED:
        said = names.argument(call, "arg_str")
    if values is UNDEFINED:
        values = names.argument(call, "arg_values")
    named = _lambda_of(call, "name_fn", 2)
    unknown = f"the values of @{_head(ast.unparse(call) if call is not None else '')} are not written out"
    if not isinstance(said, str) or not isinstance(values, (list, tuple)):
        return [Suffix(ANY, "", unknown)]
    arguments = [part.strip() for part in said.split(",") if part]
    if not arguments:
        return [Suffix("", "", "")]
    found = []
    for index, value in enumerate(values):
        name = UNDEFINED
        if isinstance(value, Called) and value.name.rpartition(".")[2] == "subtest":
            name = value.keywords.get("name", value.arguments[1] if len(value.arguments) > 1 else UNDEFINED)
            value = value.keywords.get("arg_values", value.arguments[0] if value.arguments else UNKNOWN)
        several = list(value) if len(arguments) > 1 and isinstance(value, (list, tuple)) else [value]
        if len(several) != len(arguments):
            return [Suffix(ANY, "", unknown)]
        text: str | None
        if name is not UNDEFINED and name is not None:
            text = name if isinstance(name, str) else None
        elif named is not None:
            text = names.applied(named, several)
        else:
            parts = [_shown(rules, index, a, v) for a, v in zip(arguments, several, strict=True)]
            text = None if None in parts else "_".join(part for part in parts if part is not None)
        dtype = next((v for a, v in zip(arguments, several, strict=True) if a == "dtype"), None)
        types = types_of(dtype, rules) if isinstance(dtype, Named) else frozenset(("",))
        behind = next(iter(types)) if types else ""
        found.append(Suffix(ANY if text is None else text, behind, unknown if text is None else ""))
    return found


def _lambda_of(call: ast.Call | None, keyword: str, position: int) -> ast.expr | None:
    if call is None:
        return None
    given = next((k.value for k in call.keywords if k.arg == keyword), None)
    return given if given is not None else call.args[position] if len(call.args) > position else None


def _shown(rules: TestRules, index: int, name: str, value: Any) -> str | None:
    """`_formatted_str_repr` of common_utils.py; None where the value is not known."""
    if isinstance(value, Entry):
        return value.formatted_name if value.info in ("OpInfo", "ModuleInfo") else f"{name}{index}"
    if isinstance(value, (bool, int, float, str)):
        return f"{name}_{str(value).replace('.', '_')}"
    if isinstance(value, Named):
        last = value.name.rpartition(".")[2]
        types = {dtype for group in rules.dtypes.values() for dtype in group}
        plain = rules.dtype_names.get(last, last)
        return plain if plain in types and value.name.startswith("torch.") else None
    if isinstance(value, Called):
        device = value.name == "torch.device" and len(value.arguments) == 1
        return value.arguments[0] if device and isinstance(value.arguments[0], str) else None
    return None if value is UNKNOWN or isinstance(value, Opaque) else f"{name}{index}"


def pytest_ids(facts: Facts, test: Test) -> tuple[list[str], str]:
    """What pytest's own parametrisation puts behind a name: `[3-x]`, the lowest decorator first; and why
    that is not certain."""
    cases = [case for case in reversed(test.cases) if case.form == "pytest_parametrize"]
    if test.around is not None:
        around = (test.around.fact.detail or {}).get("cases", ())
        if any(name.endswith("mark.parametrize") for name, _ in around):
            return [f"[{ANY}]"], "the class is parametrised, too"
    fixture = _fixture_with_values(facts, test)
    if fixture:
        return [f"[{ANY}]"], f"the fixture {fixture} has several values"
    if not cases:
        return [""], ""
    names = Names(facts, test.definition.file)
    parts = []
    for case in cases:
        ids = _ids_of(names, call_of(case.text))
        if ids is None:
            return [f"[{ANY}]"], f"the values of @{_head(case.text)} are not written out"
        parts.append(ids)
    return [f"[{'-'.join(combined)}]" for combined in product(*parts)], ""


def _fixture_with_values(facts: Facts, test: Test) -> str:
    """A parameter of a test that is, by its name, a fixture with values of its own: '' for none. Which of
    several fixtures of one name is meant depends on folders and plug-ins, so any of them counts."""
    for match in _PARAMETER.finditer(test.definition.fact.signature):
        name = match[1]
        for definition in facts.definitions(keys.py(name)) if name not in ("self", "cls") else ():
            cases = cases_of(facts, definition)
            if any(case.form == "fixture" and "params" in case.text for case in cases):
                return name
    return ""


_PARAMETER: Final = re.compile(r"[(,]\s*([A-Za-z_]\w*)")


def _ids_of(names: Names, call: ast.Call | None) -> list[str] | None:
    """The part that one `parametrize` of pytest makes of each of its values; None where one is not known."""
    said, values, given = names.argument(call, 0), names.argument(call, 1), names.argument(call, "ids")
    arguments = said
    if isinstance(said, str):
        arguments = [part.strip() for part in said.split(",") if part.strip()]
    if not isinstance(arguments, (list, tuple)) or not isinstance(values, (list, tuple)):
        return None
    if given is not UNDEFINED and given is not None:
        known = isinstance(given, (list, tuple)) and len(given) == len(values)
        texts = [v if isinstance(v, str) else None for v in given] if known else [None]
        return None if None in texts else [text for text in texts if text is not None]
    found = []
    for index, value in enumerate(values):
        if isinstance(value, Called) and value.name == "pytest.param":
            name = value.keywords.get("id")
            if isinstance(name, str):
                found.append(name)
                continue
            several = value.arguments
        else:
            several = list(value) if len(arguments) > 1 and isinstance(value, (list, tuple)) else [value]
        if len(several) != len(arguments):
            return None
        parts = [_pytest_shown(index, a, v) for a, v in zip(arguments, several, strict=True)]
        if None in parts:
            return None
        found.append("-".join(part for part in parts if part is not None))
    return _told_apart(found)


def _pytest_shown(index: int, name: Any, value: Any) -> str | None:
    """`_idval` of _pytest/python.py for plain values; what has a `__name__` (a class, a function) is not
    known from its text."""
    if value is None or isinstance(value, (bool, int, float)):
        return str(value)
    if isinstance(value, str):
        return value if value.isascii() and value.isprintable() else None
    return None if value is UNKNOWN or isinstance(value, Opaque) else f"{name}{index}"


def _told_apart(ids: list[str]) -> list[str]:
    """Equal ids are numbered, as pytest does: a0, a1."""
    if len(set(ids)) == len(ids):
        return ids
    counted: dict[str, int] = {}
    found = []
    for text in ids:
        if ids.count(text) == 1:
            found.append(text)
            continue
        number = counted.get(text, 0)
        counted[text] = number + 1
        between = "_" if text and text[-1].isdigit() else ""
        found.append(f"{text}{between}{number}")
    return found


def _head(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "…"
