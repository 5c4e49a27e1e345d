"""One unit's cursors → the bodies of its own files, with what they refer to.

Only top-level cursors of the wanted files are entered, and one callback sees all that is below: a unit
includes a hundred times what it says itself. A call's place is that of the name of what is called, where
it is written; libclang shows it as a cursor of its own below the call, but for constructors and implicit
conversions, which have the call's place.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, Final

from torchtalkd.facts import ExactKind
from torchtalkd.parse import exact_libclang as c
from torchtalkd.parse.exact_libclang import CONTINUE, RECURSE, VISIT, Cursor, overridden, text
from torchtalkd.parse.exact_names import Names
from torchtalkd.readings import ExactBody, ExactSite, ExactTarget

_ENTERED: Final = frozenset(
    {c.NAMESPACE, c.LINKAGE, c.UNEXPOSED, c.STRUCT, c.UNION, c.CLASS, c.CLASS_TEMPLATE, c.PARTIAL}
)
_TEMPLATES: Final = frozenset({c.FUNCTION_TEMPLATE, c.CLASS_TEMPLATE, c.PARTIAL})


class _Open:
    """A body that is being walked."""

    __slots__ = ("calls", "handle", "sites", "template")

    def __init__(self, handle: int, template: bool) -> None:
        self.handle = handle
        self.template = template
        self.sites: list[ExactSite] = []
        self.calls: dict[int, list[tuple[ExactKind, Cursor]]] = {}
        """Address of what is called → calls whose name is still to come."""


class Walk:
    """What is found in one unit."""

    def __init__(self, lib: Any, names: Names, wanted: Callable[[int], bool], *, cuda: bool) -> None:
        """`wanted` says of a file's handle whether its bodies are read."""
        self._cuda = cuda
        self._lib, self._names, self._wanted = lib, names, wanted
        self.bodies: dict[str, list[ExactBody]] = {}
        """Path → its bodies."""
        self.targets: list[ExactTarget] = []
        self.counts: dict[str, Counter[str]] = {}
        """Path → how many calls were resolved, dependent, unresolved."""
        self._numbers: dict[ExactTarget, int] = {}
        self._kernels: dict[int, bool] = {}
        self._open: list[_Open] = []
        self._templates = 0
        self._outside = VISIT(self._at_outside)
        self._inside = VISIT(self._at_inside)

    def run(self, unit: Any) -> None:
        """Walks a unit."""
        lib = self._lib
        lib.clang_visitChildren(lib.clang_getTranslationUnitCursor(unit), self._outside, None)

    # -- outside of functions

    def _at_outside(self, cursor: Cursor, _parent: Cursor, _data: object) -> int:
        kind = cursor.kind
        if kind in c.FUNCTIONS:
            handle, line, column = self._names.where(cursor)
            # What a unit instantiates stands at its top, too: it has no text of its own.
            if (
                self._wanted(handle)
                and self._lib.clang_isCursorDefinition(cursor)
                and not self._names.is_instantiated(cursor)
            ):
                self._body(cursor, handle, line, column)
            return CONTINUE
        if kind in _ENTERED:
            if not self._open and not self._wanted(self._names.where(cursor)[0]):
                # A namespace or class of another file; one that spans files by #include is not looked into.
                return CONTINUE
            if kind in _TEMPLATES:
                self._templates += 1
                self._lib.clang_visitChildren(cursor, self._outside, None)
                self._templates -= 1
                return CONTINUE
            return RECURSE
        if kind in (c.VARIABLE, c.FIELD):
            handle, line, column = self._names.where(cursor)
            if self._wanted(handle):
                self._body(cursor, handle, line, column)
        return CONTINUE

    def _body(self, cursor: Cursor, handle: int, line: int, column: int) -> None:
        lib, names = self._lib, self._names
        if cursor.kind in c.FUNCTIONS and lib.clang_CXXMethod_isDefaulted(cursor):
            return
        template = self._templates > 0 or cursor.kind == c.FUNCTION_TEMPLATE
        opened = _Open(handle, template)
        self._open.append(opened)
        lib.clang_visitChildren(cursor, self._inside, None)
        self._open.pop()
        for calls in opened.calls.values():
            for kind, call in calls:
                # No name came for it: an implicit conversion.
                self._site(opened, kind, call, lib.clang_getCursorReferenced(call))
        if cursor.kind in (c.METHOD, c.CONVERSION):
            self._overrides(opened, cursor)
        if cursor.kind not in c.FUNCTIONS and not opened.sites:
            return
        path = names.path(handle)
        self.bodies.setdefault(path, []).append(
            ExactBody(
                names.qualified(cursor),
                line,
                column,
                max(line, names.end_line(cursor)),
                text(lib, lib.clang_getTypeSpelling(lib.clang_getCursorType(cursor))),
                names.usr(names.pattern(cursor)),
                tuple(dict.fromkeys(opened.sites)),
            )
        )

    def _overrides(self, opened: _Open, method: Cursor) -> None:
        """All that a method overrides, directly or not: between two with bodies may be one that has none."""
        waiting, seen = overridden(self._lib, method), set[int]()
        while waiting:
            above = waiting.pop()
            if above.data[0] not in seen:
                seen.add(above.data[0])
                self._site(opened, "overrides", method, above)
                waiting += overridden(self._lib, above)

    # -- inside

    def _at_inside(self, cursor: Cursor, _parent: Cursor, _data: object) -> int:
        kind = cursor.kind
        if kind == c.CALL:
            self._call(cursor)
        elif kind in (c.DECL_REF, c.MEMBER_REF):
            meant = self._lib.clang_getCursorReferenced(cursor)
            if meant.kind in c.FUNCTIONS:
                self._named(cursor, meant)
        elif kind in c.FUNCTIONS:
            if self._names.is_of_lambda(cursor):
                # Its body stands below the lambda's expression, too; here it may be an instantiation of it.
                return CONTINUE
            return self._at_outside(cursor, _parent, None)
        return RECURSE

    def _call(self, cursor: Cursor) -> None:
        lib, opened = self._lib, self._open[-1]
        meant = lib.clang_getCursorReferenced(cursor)
        if meant.kind not in c.FUNCTIONS:
            if meant.kind in c.UNKNOWN:
                dependent = opened.template or lib.clang_getCursorType(cursor).kind == c.DEPENDENT
                self._count(opened, "dependent" if dependent else "unresolved")
            return
        self._count(opened, "resolved")
        if meant.kind == c.CONSTRUCTOR:
            self._site(opened, "construct", cursor, meant)
            return
        kind: ExactKind = "call"
        if self._cuda and self._is_kernel(meant):
            kind = "launch"
        elif meant.kind == c.METHOD and lib.clang_Cursor_isDynamicCall(cursor):
            kind = "virtual"
        opened.calls.setdefault(meant.data[0], []).append((kind, cursor))

    def _named(self, cursor: Cursor, meant: Cursor) -> None:
        opened = self._open[-1]
        if not self._names.where(cursor)[0]:
            return  # A conversion that nobody wrote: the call's own place is taken in the end.
        waiting = opened.calls.get(meant.data[0])
        kind: ExactKind = waiting.pop()[0] if waiting else "address"
        self._site(opened, kind, cursor, meant)

    def _site(self, opened: _Open, kind: ExactKind, at: Cursor, meant: Cursor) -> None:
        target = self._names.target(meant)
        if target is None:
            return
        handle, line, column = self._names.where(at)
        if handle != opened.handle:
            return  # In a file that is included into the body: it has no place in this one.
        number = self._numbers.get(target)
        if number is None:
            number = self._numbers[target] = len(self.targets)
            self.targets.append(target)
        if kind == "call" and _is_operator(target.name):
            kind = "operator"
        opened.sites.append(ExactSite(kind, line, column, number))

    def _count(self, opened: _Open, what: str) -> None:
        path = self._names.path(opened.handle)
        self.counts.setdefault(path, Counter())[what] += 1

    def _is_kernel(self, meant: Cursor) -> bool:
        address = meant.data[0]
        known = self._kernels.get(address)
        if known is None:
            found = []

            def look(cursor: Cursor, _parent: Cursor, _data: object) -> int:
                if cursor.kind == c.CUDA_GLOBAL:
                    found.append(cursor.kind)
                return CONTINUE

            self._lib.clang_visitChildren(self._names.pattern(meant), VISIT(look), None)
            known = self._kernels[address] = bool(found)
        return known


def _is_operator(name: str) -> bool:
    last = name.rpartition("::")[2]
    return last.startswith("operator") and not last[8:9].isalnum() and last[8:9] != "_"
