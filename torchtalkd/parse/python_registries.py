"""Registries in Python: what a name stands for, by a manifest's convention (`PythonRegistry`). Pure.

`@CustomOp.register("rms_norm")`, `KVConnectorFactory.register_connector("x", "a.b", "C")`,
`_MODELS = {"LlamaForCausalLM": ("llama", "LlamaForCausalLM")}`, an enum member whose value is a dotted
path: each is a Definition of the entry's name, at that name, whose target is the class or function.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from fnmatch import translate
from typing import Final, NamedTuple

from tree_sitter import Node

from torchtalkd import keys
from torchtalkd.conventions.globs import union
from torchtalkd.conventions.values import PythonRegistry
from torchtalkd.facts import Definition, Reference
from torchtalkd.parse.python_names import key_of
from torchtalkd.parse.python_outline import Outline
from torchtalkd.parse.python_static import Bound, passes, static_values
from torchtalkd.parse.python_tables import Entry, Value, entries, value_of
from torchtalkd.parse.python_uses import BindingCall
from torchtalkd.parse.python_values import (
    Arguments,
    Chain,
    arguments_of,
    chain_of,
    decorated,
    receiver_of,
)

_DECORATED = "decorated"
_RECEIVER = "receiver"


def endings(patterns: tuple[str, ...]) -> re.Pattern[str]:
    """What a dotted name must match to be one of the patterns or to end in one."""
    return re.compile(r"(?:.*\.)?(?:" + "|".join(translate(pattern) for pattern in patterns) + ")")


class _Row(NamedTuple):
    registry: PythonRegistry
    paths: re.Pattern[str] | None
    name: re.Pattern[str]
    """What the call, the variable or the class must be called."""
    certain: bytes
    """A part of the name without `*`: no file without it has the registry."""


class Registries:
    """The registries of a manifest, ready to be asked."""

    def __init__(self, registries: tuple[PythonRegistry, ...]) -> None:
        # The last that fits is used: what a manifest says goes before what it extends.
        registries = registries[::-1]
        self._calls = [_row(r, r.call) for r in registries if r.call]
        self._tables = [_row(r, r.table) for r in registries if r.table]
        self._enums = [_row(r, r.enum) for r in registries if r.enum]
        self._lasts = (
            endings(tuple(dict.fromkeys(r.call.rpartition(".")[2] for r in registries if r.call)))
            if self._calls
            else None
        )
        self._wanted: dict[str, bool] = {}

    def wants(self, last: str) -> bool:
        """Whether a call of something with this last component may add an entry."""
        known = self._wanted.get(last)
        if known is None:
            if len(self._wanted) > 100_000:  # names are without end, memory is not
                self._wanted.clear()
            known = self._lasts is not None and self._lasts.fullmatch(last) is not None
            self._wanted[last] = known
        return known

    def calls(self, written: str, full: str, path: str) -> Iterator[PythonRegistry]:
        """The registries that a call of a name may add to."""
        for row in self._calls:
            if _applies(row, path) and (row.name.fullmatch(written) or row.name.fullmatch(full)):
                yield row.registry

    def tables(self, data: bytes, path: str) -> list[_Row]:
        """The tables that the file may hold."""
        return [row for row in self._tables if _applies(row, path) and row.certain in data]

    def enums(self, data: bytes, path: str) -> list[_Row]:
        """The enums that the file may hold."""
        return [row for row in self._enums if _applies(row, path) and row.certain in data]


def _row(registry: PythonRegistry, name: str) -> _Row:
    certain = max(re.split(r"[*?\[\].]", name), key=len)
    pattern = endings((name,)) if registry.call else re.compile(translate(name))
    return _Row(registry, union(registry.paths) if registry.paths else None, pattern, certain.encode())


def _applies(row: _Row, path: str) -> bool:
    return row.paths is None or row.paths.fullmatch(path) is not None


def read_registries(out: Outline, calls: list[BindingCall], registries: Registries, path: str) -> None:
    """Add a Definition for each entry."""
    for row in registries.enums(out.data, path):
        _read_enum(out, row)
    tables = registries.tables(out.data, path)
    if tables:
        for name, owner in _assigned(out, tables):
            written = out.text(name)
            for row in tables:
                if row.name.fullmatch(written):
                    for entry in entries(name, out, owner):
                        _add(out, row.registry, entry, owner, written)
                    break
    seen: set[int] = set()
    for callee, owner, last in calls:
        if registries.wants(last) and callee.start_byte not in seen:
            seen.add(callee.start_byte)
            _read_call(out, callee, owner, registries, path)
    for ordinal, decorators in out.decorators.items():
        for node in decorators:
            # A decorator without arguments is no call: `@register_operator`.
            if node.type == "identifier" and registries.wants(out.text(node)):
                _read_call(out, node, out.definitions[ordinal].scope, registries, path)


def _read_enum(out: Outline, row: _Row) -> None:
    classes = {
        ordinal: d.name.rpartition(".")[2]
        for ordinal, d in enumerate(out.definitions)
        if d.kind == "class" and row.name.fullmatch(d.name.rpartition(".")[2])
    }
    for name, owner in out.assigned:
        if owner in classes:
            parent = name.parent
            right = parent.child_by_field_name("right") if parent is not None else None
            value = value_of(right, out, owner) if right is not None else None
            if value is not None:
                _add(out, row.registry, Entry(name, out.text(name), value), owner, classes[owner])


def _assigned(out: Outline, tables: list[_Row]) -> Iterator[tuple[Node, int]]:
    """The names that are assigned a value in the module, in classes and in functions: a table may
    be made where it is needed, so that its imports come late."""
    at_module = {name.start_byte for name, _ in out.assigned}
    yield from out.assigned
    if out.root is None:
        return
    for line in _lines_with(out.data, {row.certain for row in tables}):
        match = _ASSIGNED.match(out.data, line)
        if match is None:
            continue
        start = match.start(1)
        name = match[1].decode()
        if start in at_module or not any(row.name.fullmatch(name) for row in tables):
            continue
        node = out.root.descendant_for_byte_range(start, match.end(1))
        if node is not None and node.type == "identifier":
            yield node, _owner_at(out, start)


_ASSIGNED: Final = re.compile(rb"[ \t]+([A-Za-z_]\w*)[ \t]*(?::[^=\n]*)?=[ \t]*(?=[\w.]*\(?[ \t]*\{)")
"""A line within a block that assigns a dict, or what is called with one."""


def _lines_with(data: bytes, parts: Iterable[bytes]) -> list[int]:
    """Where the lines begin that have one of the parts; ascending."""
    found: set[int] = set()
    for part in parts:
        at = data.find(part)
        while at >= 0:
            found.add(data.rfind(b"\n", 0, at) + 1)
            end = data.find(b"\n", at)
            at = data.find(part, end + 1) if end >= 0 else -1
    return sorted(found)


def _owner_at(out: Outline, position: int) -> int:
    """Ordinal of the innermost definition around a byte."""
    place = 0
    while out.changes[place + 1] <= position:
        place += 1
    return out.owners[place]


def _read_call(out: Outline, callee: Node, owner: int, registries: Registries, path: str) -> None:
    written = out.text(callee)
    full = out.resolve(chain_of(callee, out), owner) or written
    for registry in registries.calls(written, full, path):
        if _read_entries(out, callee, owner, registry, written):
            return


def _read_entries(out: Outline, callee: Node, owner: int, registry: PythonRegistry, written: str) -> bool:
    """Whether the call adds entries to a registry; if so they are added."""
    parent = callee.parent
    is_call = parent is not None and parent.type == "call"
    call = parent if parent is not None and is_call else callee
    arguments = arguments_of(call, out)
    found = _target(out, registry, call, arguments, owner)
    if found is None:
        return False
    value, own = found
    added = False
    for bound in passes(call, out):
        for place, name in _names(out, registry, callee, arguments, own, owner, bound):
            note = _note(out, registry, arguments, owner)
            _add(out, registry, Entry(place, name, value), owner, written, note)
            added = True
    return added


def _names(
    out: Outline,
    registry: PythonRegistry,
    callee: Node,
    arguments: Arguments,
    own: str,
    owner: int,
    bound: Bound,
) -> list[tuple[Node, str]]:
    """The place and name of each entry that a call makes."""
    if registry.name == _DECORATED:
        return [(callee, own)] if own else []
    node = receiver_of(callee) if registry.name == _RECEIVER else arguments.at(registry.name)
    if node is None:
        return [(callee, own)] if own else []
    found: list[tuple[Node, str]] = []
    for value in static_values(node, out, bound):
        if isinstance(value, Chain) and b"." not in value.written and not out.resolve(value.written, owner):
            continue  # A variable, of which nothing is known.
        text = value.written.decode("utf-8", "replace") if isinstance(value, Chain) else value.value
        name = re.sub(r"\s", "", text).rpartition(".")[2] if isinstance(value, Chain) else text
        if name:
            found.append((value.node, name))
    return found


def _target(
    out: Outline, registry: PythonRegistry, call: Node, arguments: Arguments, owner: int
) -> tuple[Value, str] | None:
    """What the entry stands for, and the own name of what the call decorates; None: it is no entry."""
    ordinal = decorated(call, out)
    own = out.definitions[ordinal].name.rpartition(".")[2] if ordinal >= 0 else ""
    node = arguments.at(registry.target) if registry.target != _DECORATED else None
    if node is not None:
        module = arguments.at(registry.module) if registry.module != "" else None
        if registry.module != "" and module is None:
            return None
        value = value_of(node, out, owner, module)
        return (value, own) if value is not None else None
    if ordinal >= 0:
        d = out.definitions[ordinal]
        return Value(d.name, d.line, d.column), own
    outer = call.parent
    if outer is None or outer.type != "call" or outer.child_by_field_name("function") != call:
        return None
    inner = arguments_of(outer, out).at(0)
    value = value_of(inner, out, owner) if inner is not None else None
    return (value, value.name.rpartition(".")[2]) if value is not None else None


def _note(out: Outline, registry: PythonRegistry, arguments: Arguments, owner: int) -> str:
    node = arguments.at(registry.note) if registry.note != "" else None
    if node is None:
        return ""
    found = []
    for value in static_values(node, out):
        chain = isinstance(value, Chain) and out.resolve(value.written, owner)
        found.append(chain or out.text(value.node).strip("\"'"))
    return ", ".join(found)


def _add(
    out: Outline, registry: PythonRegistry, entry: Entry, owner: int, written: str, note: str = ""
) -> None:
    name, value = entry.name, entry.value
    full = value.name
    if registry.prefix and (full.count(".") == 0 or (value.module_and_name and full.count(".") == 1)):
        full = registry.prefix + full
    if "." not in full:
        return  # A word is no path: `CPU = "cpu"`.
    row, column = entry.place.start_point
    ordinal = len(out.definitions)
    detail = {"label": registry.label, "registry": written, **({"note": note} if note else {})}
    if entry.place.type == "attribute" and name != written:
        # The entry of an enum's member may be asked for as that of the enum.
        detail["of"] = out.text(entry.place).rpartition(".")[0].rpartition(".")[2]
    out.definitions.append(
        Definition(
            keys.registry(name),
            name,
            "registry",
            row + 1,
            column,
            entry.place.end_point.row + 1,
            owner,
            convention=registry.id,
            detail=detail,
        )
    )
    out.references.append(Reference(key_of(full), full, "target", value.line, value.column, ordinal))
