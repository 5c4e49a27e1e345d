"""From the raw tables of a manifest to its typed values, or to what is wrong with them.

The dataclasses of `values.py` are the schema: their field names and types are what a
manifest may say. `check` finds the first mistake of one file; `build` makes the values from
merged tables that were each checked.
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
import re
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from torchtalkd import facts
from torchtalkd.conventions import values
from torchtalkd.conventions.errors import FieldError
from torchtalkd.conventions.globs import glob_fault
from torchtalkd.conventions.lines import FieldPath
from torchtalkd.conventions.path_rules import COMPILING, check_runs_nothing, globs, paths
from torchtalkd.conventions.versions import condition_fault

FORMAT: Final = 1
"""The newest manifest format that this program understands."""
SHAPES: Final = (
    "torch_library",
    "dispatch_stub",
    "structured",
    "pybind11",
    "register_operators",
    "method_table",
    "gtest",
)
LANGUAGES: Final = (
    "cpp",
    "cuda",
    "objcpp",
    "metal",
    "python",
    "native_functions",
    "derivatives",
    "tags",
    "cmake",
    "pyproject",
    "notebook",
    "",
)
OPERAND_SPACES: Final = ("op", "py", "test")
RELEASE: Final = "release"
_NOT_WRITTEN: Final = {
    values.Conventions: {"rules", "fingerprint"},
    facts.Rules: {"harness", "version", "bases"},
}
"""Fields that the loader fills in itself."""
_NOT_IN_RELEASE: Final = {"format", "name", "extends", "detect", "detect_text", "version_files", RELEASE}


def check(raw: Mapping[str, Any], *, of_a_tree: bool = False) -> None:
    """Raise FieldError for the first mistake in one manifest's own tables. `of_a_tree`: it lies in a tree,
    which is a stranger's, so it may not say what is to run."""
    _check_format(raw)
    if of_a_tree:
        check_runs_nothing(raw, RELEASE)
    fields = _top_fields()
    _known_fields(raw, [*fields, RELEASE], (), "a manifest")
    for name, value in raw.items():
        if name == RELEASE:
            _check_releases(value)
        else:
            _converted(fields[name], value, (name,))


def build(
    raw: Mapping[str, Any],
    *,
    name: str,
    extends: tuple[str, ...],
    version: str,
    bases: dict[str, dict[str, tuple[str, ...]]],
) -> values.Conventions:
    """The values of merged tables. `extends` is the chain of ancestors, nearest first; `bases` what
    the frameworks of `depends_on` provide."""
    fields = _top_fields()
    made = {key: _converted(fields[key], value, (key,)) for key, value in raw.items() if key in fields}
    rules = dataclasses.replace(made.pop("link", facts.Rules()), harness=name, version=version, bases=bases)
    made.update(name=name, extends=extends, rules=rules)
    python: values.Python = made.get("python", values.Python())
    # The first binding that fits a call is used, so what is meant for some files goes first.
    bindings = tuple(sorted(python.bindings, key=lambda binding: not binding.paths))
    made["python"] = dataclasses.replace(python, bindings=bindings)
    return values.Conventions(**made)


def listed(value: object) -> list[str]:
    """`extends = "a"` and `extends = ["a"]` are the same."""
    return [value] if isinstance(value, str) else list(typing.cast("list[str]", value or []))


def blank_name(item: object) -> str:
    """The macro that an entry of `cpp.blank` names: a table, `"NAME"` or `"NAME(...)"`."""
    return (
        item.removesuffix("(...)")
        if isinstance(item, str)
        else str(typing.cast("dict[str, Any]", item)["name"])
    )


def identity(item: object) -> object:
    """What makes two items of a list the same: the text itself, or a table's id, name or pattern."""
    if isinstance(item, dict):
        return next((item[key] for key in ("id", "name", "pattern") if key in item), None)
    return item.removesuffix("(...)") if isinstance(item, str) else item


@functools.cache
def _top_fields() -> dict[str, Any]:
    """Top-level fields of a manifest with their types."""
    fields = _fields_of(values.Conventions)
    return {**fields, "extends": str | tuple[str, ...], "link": facts.Rules}


@functools.cache
def _fields_of(cls: type) -> dict[str, Any]:
    """Names and types of the fields of a dataclass that a manifest may write."""
    hints = typing.get_type_hints(cls)
    return {name: hint for name, hint in hints.items() if name not in _NOT_WRITTEN.get(cls, ())}


def _check_format(raw: Mapping[str, Any]) -> None:
    # Before anything else: fields that are unknown here may be right in a newer format.
    written = raw.get("format")
    if written is None:
        raise FieldError((), f"the field 'format' is missing; write: format = {FORMAT}")
    if not isinstance(written, int) or isinstance(written, bool) or written < 1:
        raise FieldError(("format",), f"'format' must be a whole number from 1 to {FORMAT}")
    if written > FORMAT:
        raise FieldError(
            ("format",),
            f"format {written} is newer than this program understands ({FORMAT}); install a newer torchtalkd",
        )


def _check_releases(value: object) -> None:
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise FieldError((RELEASE,), f"'{RELEASE}' must be a list of tables: write [[{RELEASE}]]")
    fields = {name: hint for name, hint in _top_fields().items() if name not in _NOT_IN_RELEASE}
    for index, item in enumerate(value):
        path: FieldPath = (RELEASE, index)
        _known_fields(item, ["versions", *fields], path, f"[[{RELEASE}]]")
        condition = item.get("versions")
        if not isinstance(condition, str):
            raise FieldError(
                (*path, "versions"), 'a release needs its versions as text, for example ">=2.5,<2.7"'
            )
        fault = condition_fault(condition)
        if fault:
            raise FieldError((*path, "versions"), fault)
        for name, field in item.items():
            if name != "versions":
                _converted(fields[name], field, (*path, name))


def _converted(hint: Any, value: Any, path: FieldPath) -> Any:
    """`value` as the type `hint`, with every check that its place asks for."""
    origin = typing.get_origin(hint)
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return _table(hint, value, path)
    if origin in (types.UnionType, typing.Union):
        if path[-1] == "extends":
            return _converted(tuple[str, ...], listed(value) if isinstance(value, str) else value, path)
        if type(value) not in typing.get_args(hint):
            raise FieldError(path, f"{_label(path)} must be {_described(hint)}, not {_shown(value)}")
        made: Any = value
    elif origin is tuple:
        made = _list(typing.get_args(hint)[0], value, path)
    elif origin is dict:
        if not isinstance(value, dict):
            raise FieldError(path, f"{_label(path)} must be {_described(hint)}, not {_shown(value)}")
        item = typing.get_args(hint)[1]
        made = {key: _converted(item, inner, (*path, key)) for key, inner in value.items()}
    elif type(value) is hint:
        made = value
    else:
        raise FieldError(path, f"{_label(path)} must be {_described(hint)}, not {_shown(value)}")
    # A rule on a list looks at its items itself, to name the position of a bad one.
    rule = _RULES.get(_plain(path)) if isinstance(path[-1], str) else None
    if rule:
        rule(made, path)
    return made


def _list(item_hint: Any, value: Any, path: FieldPath) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise FieldError(
            path, f"{_label(path)} must be {_described(tuple[item_hint, ...])}, not {_shown(value)}"
        )
    seen: set[object] = set()
    for index, item in enumerate(value):
        same = identity(item)
        if isinstance(same, str) and same in seen:
            raise FieldError((*path, index), f"{same!r} is listed twice in {_label(path)}")
        if isinstance(same, str):
            seen.add(same)
    return tuple(_converted(item_hint, item, (*path, index)) for index, item in enumerate(value))


def _table(cls: type, value: Any, path: FieldPath) -> Any:
    if cls is values.BlankMacro and isinstance(value, str):
        value = {"name": blank_name(value), "arguments": value.endswith("(...)")}
    if not isinstance(value, dict):
        raise FieldError(path, f"{_label(path)} must be a table, not {_shown(value)}")
    fields = _fields_of(cls)
    _known_fields(value, fields, path, _label(path))
    for field in dataclasses.fields(cls):
        is_required = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        if is_required and field.name in fields and field.name not in value:
            raise FieldError(
                path, f"{_label(path)} needs the field '{field.name}'; fields: {', '.join(fields)}"
            )
    return cls(**{name: _converted(fields[name], inner, (*path, name)) for name, inner in value.items()})


def _known_fields(table: Mapping[str, Any], known: Iterable[str], path: FieldPath, label: str) -> None:
    names = sorted(known)
    for name in table:
        if name not in names:
            raise FieldError(
                (*path, name),
                f"unknown field '{name}' in {label}; {nearest(name, names)}fields: {', '.join(names)}",
            )


def nearest(name: str, known: Iterable[str]) -> str:
    """`did you mean 'x'? ` or ''."""
    near = difflib.get_close_matches(name, list(known), n=1)
    return f"did you mean '{near[0]}'? " if near else ""


def _one_of(what: str, allowed: Iterable[str]) -> Callable[[Any, FieldPath], None]:
    choices = sorted(allowed)

    def rule(value: Any, path: FieldPath) -> None:
        if value not in choices:
            shown = ", ".join(choice or "''" for choice in choices)
            raise FieldError(path, f"unknown {what} '{value}'; {nearest(value, choices)}allowed: {shown}")

    return rule


def _language_keys(value: dict[str, str], path: FieldPath) -> None:
    for key in value:
        if "/" in key:
            fault = glob_fault(key)
        elif key.startswith(".") and key.count(".") == 1 and len(key) > 1 and not set(key) & set("*?[\\"):
            fault = ""
        else:
            fault = "write a suffix with one dot ('.cu') or a pattern with a slash ('**/tags.yaml')"
        if fault:
            raise FieldError((*path, key), f"bad key '{key}' in {_label(path)}: {fault}")


_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
KINDS: Final = (*typing.get_args(facts.Kind), "files")
"""What `expected_minimums` can count: the kinds of facts, and the files that are read."""


def name_fault(name: str) -> str:
    """Why `name` cannot name a harness ('' when it can)."""
    if _NAME.fullmatch(name):
        return ""
    return f"'{name}' is no name of a harness: letters, digits, '-', '_' and '.' make one, and never a path"


def _harness_names(value: Any, path: FieldPath) -> None:
    for index, name in enumerate([value] if isinstance(value, str) else value):
        if fault := name_fault(name):
            raise FieldError(path if isinstance(value, str) else (*path, index), fault)


def _minimums(value: dict[str, int], path: FieldPath) -> None:
    for kind, least in value.items():
        _one_of("kind", KINDS)(kind, (*path, kind))
        if least < 1:
            raise FieldError((*path, kind), f"{_label((*path, kind))} must be 1 or more")


def _positive(value: int, path: FieldPath) -> None:
    if value < 1:
        raise FieldError(path, f"{_label(path)} must be 1 or more")


_RULES: Final[dict[str, Callable[[Any, FieldPath], None]]] = {
    "name": _harness_names,
    "extends": _harness_names,
    "depends_on": _harness_names,
    "expected_minimums": _minimums,
    "detect": paths,
    "detect_text": paths,
    "version_files": paths,
    "files.ignore": globs,
    "files.tests": globs,
    "files.templates": globs,
    "files.generated": globs,
    "files.languages": _language_keys,
    "files.languages.*": _one_of("language", LANGUAGES),
    "files.max_bytes": _positive,
    **COMPILING,
    "cpp.shapes.shape": _one_of("shape", SHAPES),
    "cpp.stub_rules.pattern": globs,
    "python.roots": paths,
    "python.bindings.kind": _one_of("kind", typing.get_args(facts.Kind)),
    "python.bindings.operand_space": _one_of("operand space", OPERAND_SPACES),
    "python.bindings.paths": globs,
    "python.registries.paths": globs,
    "python.layers.pattern": globs,
    "python.layers.kind": _one_of("kind", typing.get_args(facts.Kind)),
}
"""What a field must fulfil beyond its type, by its path without positions."""


def _plain(path: FieldPath) -> str:
    """`("release", 0, "cpp", "shapes", 3, "shape")` → `cpp.shapes.shape`."""
    parts = [part for part in path if isinstance(part, str)]
    if parts[0] == RELEASE:
        parts = parts[1:]
    if parts[:2] == ["files", "languages"] and len(parts) == 3:
        parts[2] = "*"
    return ".".join(parts)


def _label(path: FieldPath) -> str:
    """How a message names a field: `cpp.shapes[3].shape`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def _described(hint: Any) -> str:
    """A type in the words of a manifest's author."""
    plain = {str: "text", int: "a whole number", bool: "true or false"}
    if hint in plain:
        return plain[hint]
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):
        return " or ".join(_described(argument) for argument in arguments)
    if origin is tuple:
        return "a list of " + ("text" if arguments[0] is str else "tables")
    if origin is dict:
        inner = "lists of text" if typing.get_origin(arguments[1]) is tuple else plain[arguments[1]]
        return f"a table of {inner}"
    return "a table"


def _shown(value: object) -> str:
    names = {
        str: "text",
        int: "a number",
        float: "a number",
        bool: "true or false",
        list: "a list",
        dict: "a table",
    }
    return names.get(type(value), "a date or time")
