"""What a function is called in a unit: its qualified name, and a digest that names it in every unit.

A USR holds only the basename of the file of a function with internal linkage, and two files of a tree may
have the same: so that is digested together with the file's path. Templates are named by their pattern,
whatever it was instantiated with.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b
from typing import Any, Final

from torchtalkd.parse import exact_libclang as c
from torchtalkd.parse.exact_libclang import Cursor, text
from torchtalkd.readings import ExactTarget

_EXTERNAL: Final = 4
_SCOPES: Final = (
    frozenset({c.NAMESPACE, c.STRUCT, c.UNION, c.CLASS, c.CLASS_TEMPLATE, c.PARTIAL}) | c.FUNCTIONS
)
_TEMPLATES: Final = frozenset({c.FUNCTION_TEMPLATE, c.CLASS_TEMPLATE, c.PARTIAL})
_MOST_SPECIALIZED: Final = 8
_BUILTIN: Final = ("__builtin_", "__sync_", "__atomic_", "__c11_")
"""How functions are called that the compiler makes itself: they are declared where they are used first."""


class Names:
    """The names of one unit's functions. Lives as long as the unit: it is asked by address."""

    def __init__(self, lib: Any, root: str, wanted: Callable[[str], bool]) -> None:
        """`root` is the resolved tree; what is below it gets its path from there. `wanted` says of such a
        path whether bodies of it are read."""
        self._lib = lib
        self._root = root.rstrip("/") + "/"
        self._place = c.placer(lib)
        self._paths: dict[int, str] = {0: ""}
        self._wanted_paths = wanted
        self._scopes: dict[int, str] = {}
        self._targets: dict[int, ExactTarget | None] = {}

    def path(self, handle: int) -> str:
        """The path from the root of a file, '' outside."""
        known = self._paths.get(handle)
        if known is None:
            name = text(self._lib, self._lib.clang_getFileName(handle))
            known = self._paths[handle] = normal(name, self._root)
        return known

    def _wanted(self, handle: int) -> bool:
        return self._wanted_paths(self.path(handle))

    def where(self, cursor: Cursor) -> tuple[int, int, int]:
        """(handle of the file, line, column) of a cursor's name."""
        return self._place(self._lib.clang_getCursorLocation(cursor))

    def _same_token(self, one: Cursor, other: Cursor) -> bool:
        """Whether two cursors have the same name token. All that a macro makes stands at the macro's use, but
        each token of it is another."""
        places = (self._lib.clang_getCursorLocation(cursor) for cursor in (one, other))
        return bool(self._lib.clang_equalLocations(*places))

    def end_line(self, cursor: Cursor) -> int:
        """The line in which a cursor's text ends."""
        return self._place(self._lib.clang_getRangeEnd(self._lib.clang_getCursorExtent(cursor)))[1]

    def qualified(self, cursor: Cursor) -> str:
        """The name with its namespaces and classes; inline and anonymous namespaces leave no trace."""
        name = self._plain(cursor)
        around = self._scope(self._lib.clang_getCursorSemanticParent(cursor))
        return f"{around}{name}"

    def usr(self, cursor: Cursor) -> int:
        """The digest of a function that was not instantiated, by its first declaration. What a USR says of a
        template may depend on what else the unit declares (`enable_if`), so one of the tree is named by its
        place, which is the same for all who see it."""
        lib = self._lib
        first = lib.clang_getCanonicalCursor(cursor)
        handle, line, column = self.where(first)
        path = self.path(handle)
        if path and self._is_template(first):
            # A macro may make several at one place.
            found = f"{path}:{line}:{column}:{text(lib, lib.clang_getCursorSpelling(first))}"
        else:
            found = text(lib, lib.clang_getCursorUSR(first))
            if lib.clang_getCursorLinkage(first) != _EXTERNAL:
                found = f"{path}\0{found}"
        return int.from_bytes(blake2b(found.encode(), digest_size=8).digest(), "big", signed=True)

    def _is_template(self, cursor: Cursor) -> bool:
        while cursor.kind in _SCOPES:
            if cursor.kind in _TEMPLATES:
                return True
            cursor = self._lib.clang_getCursorSemanticParent(cursor)
        return False

    def is_instantiated(self, cursor: Cursor) -> bool:
        """Whether the compiler has made a function from a template, or from a lambda."""
        template = self._lib.clang_getSpecializedCursorTemplate(cursor)
        if template.kind in c.FUNCTIONS and self._same_token(template, cursor):
            return True
        return self.is_of_lambda(cursor)

    def is_of_lambda(self, cursor: Cursor) -> bool:
        """Whether a method is a lambda's call operator, or what else the compiler gives it."""
        parent = self._lib.clang_getCursorSemanticParent(cursor)
        return text(self._lib, self._lib.clang_getCursorSpelling(parent)).startswith("(lambda")

    def target(self, cursor: Cursor) -> ExactTarget | None:
        """The function that a reference means; None for one without a name that
        is written anywhere: implicit, `= default`, a lambda's own."""
        address = cursor.data[0]
        if address not in self._targets:
            self._targets[address] = self._made(cursor)
        return self._targets[address]

    def _made(self, cursor: Cursor) -> ExactTarget | None:
        lib = self._lib
        cursor = self.pattern(cursor)
        if cursor.kind in (c.METHOD, c.CONSTRUCTOR, c.DESTRUCTOR):
            if lib.clang_CXXMethod_isDefaulted(cursor):
                return None
            parent = lib.clang_getCursorSemanticParent(cursor)
            if self._same_token(parent, cursor) or self.is_of_lambda(cursor):
                return None
        name = self.qualified(cursor)
        if name.startswith(_BUILTIN):
            return None
        usr = self.usr(cursor)
        seen = lib.clang_getCanonicalCursor(cursor)
        defined = lib.clang_getCursorDefinition(cursor)
        if defined.kind in c.FUNCTIONS:
            defined = self.pattern(defined)
            if self._wanted(self.where(defined)[0]):
                # Elsewhere a body may be skipped, and then nothing says that it is the definition.
                seen = defined
        handle, line, _ = self.where(seen)
        path = self.path(handle)
        return ExactTarget(name, usr, path, line if path else 0)

    def pattern(self, cursor: Cursor) -> Cursor:
        """What a specialization was made from, as it is written."""
        for _ in range(_MOST_SPECIALIZED):
            template = self._lib.clang_getSpecializedCursorTemplate(cursor)
            if template.kind not in c.FUNCTIONS:
                break
            cursor = template
        return cursor

    def _plain(self, cursor: Cursor) -> str:
        name = text(self._lib, self._lib.clang_getCursorSpelling(cursor))
        if cursor.kind in (c.CONSTRUCTOR, c.DESTRUCTOR):
            return name.partition("<")[0]  # `Foo<T>`: of a template's pattern.
        return name

    def _scope(self, cursor: Cursor) -> str:
        if cursor.kind not in _SCOPES:
            return ""
        address = cursor.data[0]
        known = self._scopes.get(address)
        if known is None:
            lib = self._lib
            around = self._scope(lib.clang_getCursorSemanticParent(cursor))
            name = text(lib, lib.clang_getCursorSpelling(cursor))
            unnamed = not name or name.startswith("(") or lib.clang_Cursor_isInlineNamespace(cursor)
            known = self._scopes[address] = around if unnamed else f"{around}{name}::"
        return known


def normal(name: str, root: str) -> str:
    """A file's path from the root, which ends with a slash; '' outside."""
    if "/../" in name or "/./" in name:
        import os.path

        name = os.path.normpath(name)
    return name[len(root) :] if name.startswith(root) else ""
