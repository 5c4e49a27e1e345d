"""What Python's own types are: their methods, and what these give. Asked of Python itself. Pure.

A method is called once on a small object, and what comes back says what it gives: text for `str.join`, a
list of text for `str.split`, what is in it for `dict.get`. So no list of methods has to be kept.
"""

from __future__ import annotations

import builtins
import collections
import datetime
import io
import pathlib
import string
import threading
from collections.abc import Callable
from functools import cache
from types import MappingProxyType, ModuleType
from typing import Any, Final, NamedTuple

TYPES: Final = frozenset(
    (str, bytes, bytearray, bool, int, float, complex, list, tuple, dict, set, frozenset, range)
)
"""Types of values that Python has a notation or a function of its own for."""
_MODULES: Final[dict[str, ModuleType]] = {
    module.__name__: module for module in (builtins, collections, datetime, io, pathlib, string, threading)
}
"""Of which the classes are known, too."""
_TYPING: Final = {
    **{name: getattr(builtins, name.lower()) for name in ("List", "Dict", "Set", "Tuple", "FrozenSet")},
    **{name: getattr(collections, name) for name in ("OrderedDict", "Counter")},
    "Text": str,
    "DefaultDict": collections.defaultdict,
    "Deque": collections.deque,
}
"""Names of the module typing for types that exist without it."""
GIVING: Final = {
    **dict.fromkeys(("ascii", "bin", "chr", "format", "hex", "input", "oct", "repr"), str),
    **dict.fromkeys(("hash", "id", "len", "ord"), int),
    **dict.fromkeys(("callable", "hasattr", "isinstance", "issubclass"), bool),
    **dict.fromkeys(("dir", "sorted"), list),
    **dict.fromkeys(("globals", "locals", "vars"), dict),
}
"""What Python's own functions give (docs.python.org, "Built-in Functions"), where it is always the same."""
TEXTUAL: Final = (
    *("os.path.", "os.getcwd", "os.getenv", "os.listdir", "os.environ.get", "time.", "textwrap."),
    *("json.dumps", "re.sub", "re.escape", "inspect.getsource", "shlex.", "platform.", "glob.glob"),
    *("tempfile.mkdtemp", "subprocess.check_output", "subprocess.getoutput", "traceback.format"),
)
"""Beginnings of the names of functions whose results are made of text, numbers, and lists of them."""


class Plain(NamedTuple):
    """Something of a type of Python's, or of one of several."""

    types: frozenset[type]
    """None at all: nothing but None, of which nothing comes."""
    item: Plain | None = None
    """What iterating over it gives; None where that is not known."""
    value: Plain | None = None
    """Of a mapping: what a key gives."""


class _Item:
    """Stands for what a container holds."""


_ITEM: Final = _Item()
NOTHING: Final = Plain(frozenset())
TEXT: Final = Plain(frozenset((str,)), Plain(frozenset((str,))))
WORDY: Final = Plain(frozenset((str, bytes, bool, int, float, list, tuple)))
"""What functions of `TEXTUAL` give."""


def of(type_: type, item: Plain | None = None, value: Plain | None = None) -> Plain:
    """Something of a type."""
    return TEXT if type_ is str else Plain(frozenset((type_,)), item, value)


@cache
def unchanging() -> frozenset[str]:
    """The names of methods of types whose values stay as they are made."""
    return frozenset(name for type_ in _FIXED for name in dir(type_) if not name.startswith("_"))


@cache
def methods() -> frozenset[str]:
    """The names of methods that some type of Python's own has."""
    return frozenset(name for type_ in TYPES for name in dir(type_) if not name.startswith("_"))


def has(plain: Plain, method: str) -> bool:
    """Whether a value has a method; so a call of it means that one."""
    return any(method in dir(type_) for type_ in plain.types)


def joined(one: Plain | None, other: Plain | None) -> Plain | None:
    """What is one or the other; None where one is not known."""
    if one is None or other is None:
        return None
    if not one.types or not other.types:
        return other if not one.types else one
    if one == other:
        return one
    return Plain(one.types | other.types, joined(one.item, other.item), joined(one.value, other.value))


def named(name: str) -> type | None:
    """The class of Python's that a full name means: `str`, `typing.List`, `collections.deque`."""
    module, _, last = name.rpartition(".")
    if module in ("typing", "typing_extensions"):
        return _TYPING.get(last)
    found = getattr(_MODULES.get(module or "builtins"), last, None)
    return found if isinstance(found, type) and found not in (type, object, super, property) else None


def result(plain: Plain, method: str) -> Plain | None:
    """What a method gives; None where that is not always the same, or not known."""
    found: Plain | None = NOTHING
    for type_ in plain.types:
        given = _given(type_, method) if type_ in TYPES else None
        if given is _ITEM:
            given = plain.value if issubclass(type_, dict) else plain.item
        elif isinstance(given, Plain) and method in ("items", "values", "copy", "keys"):
            given = _of_contents(plain, method, given)
        found = joined(found, given if isinstance(given, Plain) else None)
    return found


def changing() -> frozenset[str]:
    """The names of methods that change what a list, a set or a mapping holds, and few others."""
    pairs = ((list, tuple), (set, frozenset), (dict, MappingProxyType))
    return frozenset(
        name
        for type_, fixed in pairs
        for name in set(dir(type_)) - set(dir(fixed))
        if not name.startswith("_")
    )


def of_name(plain: Plain, kept: bool) -> Plain:
    """What is known of a value under a name: what is in it only where nobody puts something else there."""
    if kept or plain.types <= _FIXED:
        return plain
    return plain._replace(item=None, value=None)


_FIXED: Final = frozenset((str, bytes, tuple, frozenset, range, int, float, bool, complex))
"""Types whose values stay as they are made."""


def _of_contents(plain: Plain, method: str, given: Plain) -> Plain:
    if method == "copy":
        return given._replace(item=plain.item, value=plain.value)
    return given._replace(item={"keys": plain.item, "values": plain.value}.get(method))


@cache
def _given(type_: type, method: str) -> Plain | _Item | None:
    """What a method of a type gives, by calling it."""
    if method.startswith("_") or not hasattr(type_, method):
        return None
    for arguments in _ARGUMENTS:
        sample = _SAMPLES[type_]()
        try:
            return _seen(getattr(sample, method)(*arguments))
        except (TypeError, ValueError, LookupError, AttributeError, OverflowError):
            continue  # These are not the arguments that it wants.
    return None


def _seen(value: object) -> Plain | _Item | None:
    if value is _ITEM:
        return _ITEM
    if value is None:
        return NOTHING
    if isinstance(value, (list, tuple)):
        items = [_seen(item) for item in value]
        known = [item for item in items if isinstance(item, Plain)]
        alike = known[0] if known and len(known) == len(items) and len(set(known)) == 1 else None
        return of(type(value), alike)
    return of(type(value))


_SAMPLES: Final[dict[type, Callable[[], Any]]] = {
    str: lambda: "a",
    bytes: lambda: b"a",
    bytearray: lambda: bytearray(b"a"),
    bool: lambda: True,
    int: lambda: 1,
    float: lambda: 1.5,
    complex: lambda: 1j,
    list: lambda: [_ITEM],
    tuple: lambda: (_ITEM,),
    dict: lambda: {_ITEM: _ITEM},
    set: lambda: {_ITEM},
    frozenset: lambda: frozenset((_ITEM,)),
    range: lambda: range(1),
}
_ARGUMENTS: Final[tuple[tuple[object, ...], ...]] = (
    *((_ITEM,), (), ("a",), (b"a",), (1,), ("a", "b"), (b"a", b"b"), (["a"],), ([b"a"],), ([_ITEM],)),
    *(({},), (0, _ITEM), (1, "big"), ("61",)),
)
