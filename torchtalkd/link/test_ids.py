"""What the tests of one function are called, as pytest and gtest print them. Pure.

`TestCommon.test_out` under `@ops(op_db, allowed_dtypes=(torch.float32,))`, instantiated for devices, makes
`test/test_ops.py::TestCommonCPU::test_out_add_cpu_float32`. The rules are those of
torch/testing/_internal/common_device_type.py (`instantiate_test`: suffix, then device, then types),
common_utils.py (`compose_parametrize_fns`, `parametrize`) and _pytest/python.py (`idmaker`). What cannot be
known from the text is `*` in a pattern, with the reason.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from itertools import islice
from typing import Any, Final, NamedTuple

from torchtalkd import keys
from torchtalkd.facts import FiledDefinition
from torchtalkd.link.expression_values import UNDEFINED
from torchtalkd.link.source import Facts
from torchtalkd.link.test_classes import NEVER, heirs, importers, more_made, why_not_collected
from torchtalkd.link.test_decorators import in_the_way, replaced
from torchtalkd.link.test_entries import Entry
from torchtalkd.link.test_functions import Test, call_of, last, makers_of
from torchtalkd.link.test_lists import Names
from torchtalkd.link.test_suffixes import ANY, Suffix, pytest_ids, suffixes_of

MOST: Final = 20_000
"""Names of one function that are made."""


_ELSEWHERE: Final = "only where there is a device of type"


class TestIds(NamedTuple):
    """The names of the tests that one function makes."""

    ids: tuple[str, ...]
    """Those that are certain, in the order of the lists that they come from."""
    patterns: tuple[str, ...] = ()
    """Those that are not, `*` for what is not known."""
    reasons: tuple[str, ...] = ()
    """Why they are not certain: sentences."""

    @property
    def certain(self) -> bool:
        """These tests there are, and no others but on machines with other devices."""
        return all(reason.startswith(_ELSEWHERE) for reason in self.reasons)


class TestClass(NamedTuple):
    """A class as it is collected."""

    path: str
    """The file that it is found in."""
    name: str
    device: str
    """The device type that its tests are made for; '' for none."""
    why: str
    """Why it may not be there; '' where it is."""


def ids_of(
    facts: Facts, test: Test, entries: Collection[Entry] | None = None, *, most_patterns: int = MOST
) -> TestIds:
    """The names of a test's tests; of a test over a list only those for some entries, where they are
    given. `most_patterns` is how many are made of those that only some machines have, for each class."""
    if test.definition.fact.kind == "test":
        return _gtest(facts, test)
    wanted = None if entries is None else frozenset(entry.definition.id for entry in entries)
    ids: list[str] = []
    patterns: list[str] = []
    reasons: list[str] = []
    for class_ in classes_of(facts, test):
        made = _names(facts, test, class_, wanted)
        around = f"{class_.path}::{class_.name}::" if class_.name else f"{class_.path}::"
        for name, why in islice(made, most_patterns if class_.why else MOST):
            why = why or class_.why
            (patterns if why else ids).append(around + name)
            if why and why not in reasons:
                reasons.append(why)
    return TestIds(tuple(dict.fromkeys(ids)), tuple(dict.fromkeys(patterns)), tuple(reasons))


def classes_of(facts: Facts, test: Test) -> list[TestClass]:
    """The classes that run a test: the one around it, what is made of it, those that extend it, and each
    of these once more for a file that imports it, where pytest finds it, too."""
    if test.around is None:
        return [TestClass(test.definition.file.path, "", "", "")]
    found: list[TestClass] = []
    for class_ in (test.around, *heirs(facts, test.around)):
        if class_ != test.around and _overrides(facts, class_, test.name):
            continue
        why = why_not_collected(facts, class_)
        if why != NEVER:
            why = why or replaced(facts, class_)
        open_ = f"what is made of {last(class_)} is not worked out"
        found += [TestClass(file.path, ANY, "", open_) for file in more_made(facts, class_)]
        makers = [case for case in makers_of(facts, class_) if case.form == "devices"]
        made = [
            one._replace(why=one.why or why)
            for case in makers
            for one in _for_devices(facts, class_, case.text)
        ]
        if class_ != test.around:
            # Only a class's own tests are made for devices: those that it inherits stay as they are.
            made = [one._replace(device="") for one in made]
        if why != NEVER:
            # A class that devices' classes are made of is taken out of its file.
            own = made or ([] if makers else [TestClass(class_.file.path, last(class_), "", why)])
            found += own
            for one in own:
                found += [one._replace(path=file.path) for file in importers(facts, class_, one.name)]
    return found


def _overrides(facts: Facts, class_: FiledDefinition, name: str) -> bool:
    """Whether a class defines the test itself."""
    return bool(facts.named(keys.py(name), f"{class_.fact.name}.{name}"))


def _for_devices(facts: Facts, class_: FiledDefinition, text: str) -> Iterator[TestClass]:
    """The classes that `instantiate_device_type_tests` makes for the devices that it is told."""
    rules, call = facts.rules.tests, call_of(text)
    names = Names(facts, class_.file)
    only, excepted = names.argument(call, "only_for"), names.argument(call, "except_for")
    unknown = call is None or any(k.arg is None for k in call.keywords)
    last_ones = (*rules.opted_devices, *rules.included_devices)
    for device in (*rules.devices, *rules.more_devices, *last_ones):
        reason = ""
        asks = "include" if device in rules.included_devices else "allow"
        if device in last_ones:
            asked = names.argument(call, f"{asks}_{device}")
            if asked is UNDEFINED or asked is False:
                continue
            if asked is not True:
                reason = f"whether {last(class_)} is made for {device} is not written out"
        chosen: bool | None = True
        if device not in rules.included_devices:
            chosen = _chosen(device, only, excepted)
            if device not in rules.devices:
                reason = f"{_ELSEWHERE} {device}"
        if chosen is False:
            continue
        if chosen is None or unknown:
            reason = f"for which devices {last(class_)} is made is not written out"
        yield TestClass(class_.file.path, last(class_) + device.upper(), device, reason)


def _chosen(device: str, only: Any, excepted: Any) -> bool | None:
    """Whether a class is made for a device; None where that is not known."""
    certain = True
    for value, kept in ((only, True), (excepted, False)):
        if value is UNDEFINED or value is None:
            continue
        # A text is a list of letters to `in`, so that "cuda" lets "cuda" in, and "cu" as well.
        if isinstance(value, str) or (
            isinstance(value, (list, tuple, set)) and all(isinstance(item, str) for item in value)
        ):
            if (device in value) is not kept:
                return False
        else:
            certain = False
    return True if certain else None


def _names(
    facts: Facts, test: Test, class_: TestClass, wanted: frozenset[int] | None
) -> Iterator[tuple[str, str]]:
    """The names of a function's tests in a class, each with why it is not certain."""
    name = test.name
    if class_.name == ANY:
        yield f"{name}{ANY}", class_.why
        return
    made = (
        any(case.form == "parametrized" for case in makers_of(facts, test.around)) if test.around else False
    )
    brackets, why = pytest_ids(facts, test)
    own = [case for case in test.cases if case.form != "pytest_parametrize"]
    hidden = in_the_way(facts, test)
    if made and class_.device and own:
        hidden = hidden or "its tests are made twice over: for parameters, and of these for devices"
    if hidden:
        yield f"{name}{ANY}", hidden
        return
    if not class_.device and not made and own:
        # Nobody makes tests of it: what pytest finds is the function, with arguments that it cannot fill.
        own, why = [], why or "no call makes the tests of this class"
        yield f"{name}{ANY}", why
        return
    for suffix in _combined([suffixes_of(facts, test, case, class_.device, wanted) for case in own]):
        parts = [name, *([suffix.text] if suffix.text else []), *([class_.device] if class_.device else [])]
        full = "_".join(parts) + (f"_{suffix.dtype}" if suffix.dtype and class_.device else "")
        for bracket in brackets:
            yield full + bracket, suffix.why or why


def _combined(cases: list[list[Suffix]]) -> Iterator[Suffix]:
    """Each with each: the parts from the top decorator to the lowest, and the types of the one that has
    them."""
    if not cases:
        yield Suffix("", "", "")
        return
    for first in cases[0]:
        for rest in _combined(cases[1:]):
            text = "_".join(part for part in (first.text, rest.text) if part)
            yield Suffix(text, first.dtype or rest.dtype, first.why or rest.why)


def _gtest(facts: Facts, test: Test) -> TestIds:
    """The name that `--gtest_filter` takes: Suite.Name, Prefix/Suite.Name/0, Suite/0.Name."""
    fact = test.definition.fact
    form = (fact.detail or {}).get("form", "")
    suite, _, name = fact.name.partition(".")
    if form == "parameters":
        prefixes = list(_prefixes(facts, suite))
        patterns = tuple(f"{prefix}{suite}.{name}/*" for prefix in prefixes or ["*"])
        return TestIds((), patterns, ("how many parameters there are is not worked out",))
    if form == "types":
        return TestIds((), (f"*{suite}/*.{name}",), ("how many types there are is not worked out",))
    return TestIds((fact.name,))


def _prefixes(facts: Facts, suite: str) -> Iterable[str]:
    """How `INSTANTIATE_TEST_SUITE_P(Prefix, Suite, …)` calls the suite."""
    for definition in facts.definitions(keys.test(suite)):
        if definition.fact.convention == "gtest_suite":
            prefix = (definition.fact.detail or {}).get("prefix", "")
            yield f"{prefix}/" if prefix else ""
