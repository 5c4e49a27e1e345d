"""What a manifest tells the read side about tests: a part of `torchtalkd.facts.Rules`."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class TestInfo:
    """A class whose instances are entries of test lists: OpInfo and its kin (table `[[link.test_infos]]`).

    Values are Python expressions. They may name other arguments of the same entry.
    """

    __test__ = False
    name: str
    """The class: `UnaryUfuncInfo`."""
    base: str = ""
    """The class that it extends, whose values hold where it says nothing."""
    of: str = ""
    """What an entry tests: `operator`, `module`, `optimizer`."""
    inherits: tuple[str, ...] = ()
    """Arguments that name the entry whose arguments an entry takes over: its name, then its variant;
    `a|b` is one of the two."""
    own: tuple[str, ...] = ()
    """Arguments that are not handed on, but to entries of classes that extend this one."""
    without: tuple[str, ...] = ()
    """Parts that the name in tests does not have: `torch.`, `.modules`."""
    defaults: dict[str, str] = field(default_factory=dict)
    """Argument → what it is where nobody gives it."""
    replaces: dict[str, str] = field(default_factory=dict)
    """Argument → what it is in place of an inherited one."""
    sets: dict[str, str] = field(default_factory=dict)
    """Argument → what it is whatever is given."""


@dataclass(frozen=True, slots=True)
class TestRules:
    """How tests of the framework are made and called (table `[link.tests]`)."""

    __test__ = False
    forms: dict[str, str] = field(default_factory=dict)
    """The end of a decorator's or call's name → what it does: `ops`, `modules`, `optims` (one test for each
    entry), `parametrize`, `pytest_parametrize`, `dtypes`, `fixture`, `devices` (classes for each device),
    `parametrized` (a class with its tests made)."""
    devices: tuple[str, ...] = ()
    """Device types that every build has tests for: `cpu`."""
    more_devices: tuple[str, ...] = ()
    """Those that have tests where the machine has the device."""
    opted_devices: tuple[str, ...] = ()
    """Those that have tests only where a class asks: `allow_mps=True`."""
    included_devices: tuple[str, ...] = ()
    """Those that every build has tests for where a class asks, whatever devices it leaves out:
    `include_lazy=True`."""
    runner_names: tuple[str, ...] = ()
    """What the framework's own runner calls the test files that it takes: paths below `test/` without
    `.py`, `*` stands for any letters. None: any."""
    runner_leaves: tuple[str, ...] = ()
    """Those of them that it refuses, because another file runs their tests, or nothing does."""
    makers: tuple[str, ...] = ()
    """The classes whose subclasses are decorators that make several tests of one."""
    dtypes: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Function → the types that it returns: floating_types; `floating_types_and` adds its arguments."""
    dtype_names: dict[str, str] = field(default_factory=dict)
    """Other names of types: half → float16."""
    dtype_order: tuple[str, ...] = ()
    """In which order a single type is chosen (common_device_type.py `ANY_DTYPE_ORDER`)."""
    backward_dtypes: tuple[str, ...] = ()
    """The types that can have a gradient (opinfo/core.py `supported_backward_dtypes`)."""
    case_classes: tuple[str, ...] = ()
    """Classes whose subclasses hold tests, whatever these are called: `unittest.TestCase`."""
    class_names: tuple[str, ...] = ("Test*",)
    """How other classes with tests are called (pytest's `python_classes`)."""
    function_names: tuple[str, ...] = ("test*",)
    """How functions that are tests are called (pytest's `python_functions`, unittest's methods)."""
    assertions: tuple[str, ...] = ("assert*",)
    """How functions that check something are called."""
    fixtures: tuple[str, ...] = ()
    """The end of the names of decorators that make a fixture, and names of methods that are one."""
    passed: tuple[str, ...] = ()
    """Calls that say nothing of what a test runs, because they switch something off, or are made only in a
    mode of their own: `name`, or `module: name` for those in a module; `*` stands for any letters."""
    unseen: tuple[str, ...] = ()
    """Functions of C++ that are called in ways that the text does not show, by their full names; `*` stands
    for any letters."""
    functionalizing: tuple[str, ...] = ()
    """Functions of Python, by their full names, under which operators that make views run as their copies."""
