"""libclang through ctypes: only what reading a unit needs, declared once.

`clang.cindex` wraps each cursor in Python objects, which costs three times as much as one callback that
takes the bare structure. It is imported for one thing, the place of the library. The numbers are those of
https://clang.llvm.org/doxygen/group__CINDEX.html (clang-c/Index.h); they have not changed since clang 3.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from ctypes import POINTER, Structure, byref, c_char_p, c_int, c_ubyte, c_uint, c_ushort, c_void_p
from functools import cache
from typing import Any, Final


class Cursor(Structure):
    """CXCursor."""

    _fields_ = (("kind", c_int), ("xdata", c_int), ("data", c_void_p * 3))


class Type(Structure):
    """CXType."""

    _fields_ = (("kind", c_int), ("data", c_void_p * 2))


class _String(Structure):
    _fields_ = (("data", c_void_p), ("flags", c_uint))


class _Location(Structure):
    _fields_ = (("pointers", c_void_p * 2), ("number", c_uint))


class _Range(Structure):
    _fields_ = (("pointers", c_void_p * 2), ("begin", c_uint), ("end", c_uint))


class IndexOptions(Structure):
    """CXIndexOptions."""

    _fields_ = (
        ("size", c_uint),
        ("priorities", c_ubyte * 2),
        ("bits", c_ushort),
        ("preambles", c_char_p),
        ("invocations", c_char_p),
    )


VISIT: Final = ctypes.CFUNCTYPE(c_int, Cursor, Cursor, c_void_p)
BREAK, CONTINUE, RECURSE = 0, 1, 2

INCOMPLETE, FOR_SERIALIZATION, SKIP_BODIES, KEEP_GOING = 0x02, 0x10, 0x40, 0x200
"""Options of a parse."""
SKIP_INCLUDED_BODIES: Final = 0x04 | 0x100 | SKIP_BODIES | 0x800
"""Options by which what a file includes at its top, its preamble, is read first and without bodies."""
_INDEX_BITS: Final = 0b101
"""Declarations of a precompiled header are not walked at the top; preambles stay in memory: a process that
is killed leaves none on the disk."""
ERROR: Final = 3
"""The severity from which on a diagnostic is an error."""

# Kinds of cursors.
UNEXPOSED, STRUCT, UNION, CLASS, FIELD, FUNCTION, VARIABLE = 1, 2, 3, 4, 6, 8, 9
METHOD, NAMESPACE, LINKAGE, CONSTRUCTOR, DESTRUCTOR, CONVERSION = 21, 22, 23, 24, 25, 26
FUNCTION_TEMPLATE, CLASS_TEMPLATE, PARTIAL = 30, 31, 32
DECL_REF, MEMBER_REF, CALL, LAMBDA = 101, 102, 103, 144
UNKNOWN: Final = frozenset({49, 70, 71, 72, 73})
"""What a reference leads to that could not be resolved: a set of overloads, or no valid cursor at all."""
CUDA_GLOBAL: Final = 414
FUNCTIONS: Final = frozenset({FUNCTION, METHOD, CONSTRUCTOR, DESTRUCTOR, CONVERSION, FUNCTION_TEMPLATE})
DEPENDENT: Final = 26
"""Kind of a type that only an instantiation decides."""

_SIGNATURES: Final[dict[str, tuple[Any, tuple[Any, ...]]]] = {
    "clang_createIndexWithOptions": (c_void_p, (POINTER(IndexOptions),)),
    "clang_disposeIndex": (None, (c_void_p,)),
    "clang_parseTranslationUnit2": (
        c_int,
        (c_void_p, c_char_p, POINTER(c_char_p), c_int, c_void_p, c_uint, c_uint, POINTER(c_void_p)),
    ),
    "clang_saveTranslationUnit": (c_int, (c_void_p, c_char_p, c_uint)),
    "clang_disposeTranslationUnit": (None, (c_void_p,)),
    "clang_getTranslationUnitCursor": (Cursor, (c_void_p,)),
    "clang_visitChildren": (c_uint, (Cursor, VISIT, c_void_p)),
    "clang_getCursorReferenced": (Cursor, (Cursor,)),
    "clang_getCursorDefinition": (Cursor, (Cursor,)),
    "clang_getCanonicalCursor": (Cursor, (Cursor,)),
    "clang_getCursorSemanticParent": (Cursor, (Cursor,)),
    "clang_getOverriddenCursors": (None, (Cursor, POINTER(POINTER(Cursor)), POINTER(c_uint))),
    "clang_disposeOverriddenCursors": (None, (POINTER(Cursor),)),
    "clang_getSpecializedCursorTemplate": (Cursor, (Cursor,)),
    "clang_getCursorType": (Type, (Cursor,)),
    "clang_getTypeSpelling": (_String, (Type,)),
    "clang_getCursorSpelling": (_String, (Cursor,)),
    "clang_getCursorUSR": (_String, (Cursor,)),
    "clang_getCursorLinkage": (c_int, (Cursor,)),
    "clang_getCursorLocation": (_Location, (Cursor,)),
    "clang_equalLocations": (c_uint, (_Location, _Location)),
    "clang_getCursorExtent": (_Range, (Cursor,)),
    "clang_getRangeEnd": (_Location, (_Range,)),
    "clang_getFileLocation": (
        None,
        (_Location, POINTER(c_void_p), POINTER(c_uint), POINTER(c_uint), POINTER(c_uint)),
    ),
    "clang_getFileName": (_String, (c_void_p,)),
    "clang_isCursorDefinition": (c_uint, (Cursor,)),
    "clang_CXXMethod_isDefaulted": (c_uint, (Cursor,)),
    "clang_Cursor_isDynamicCall": (c_int, (Cursor,)),
    "clang_Cursor_isInlineNamespace": (c_uint, (Cursor,)),
    "clang_getNumDiagnostics": (c_uint, (c_void_p,)),
    "clang_getDiagnostic": (c_void_p, (c_void_p, c_uint)),
    "clang_disposeDiagnostic": (None, (c_void_p,)),
    "clang_getDiagnosticSeverity": (c_int, (c_void_p,)),
    "clang_getDiagnosticSpelling": (_String, (c_void_p,)),
    "clang_getDiagnosticLocation": (_Location, (c_void_p,)),
    "clang_getCString": (c_char_p, (_String,)),
    "clang_disposeString": (None, (_String,)),
    "clang_getClangVersion": (_String, ()),
}


class Missing(Exception):
    """libclang cannot be loaded; `str()` says why."""


@cache
def library() -> Any:
    """The loaded library, its functions declared. Raises Missing."""
    try:
        from clang import cindex

        lib = ctypes.CDLL(cindex.conf.get_filename())
        for name, (result, arguments) in _SIGNATURES.items():
            function = getattr(lib, name)
            function.restype, function.argtypes = result, arguments
    except (ImportError, OSError, AttributeError) as error:
        raise Missing(f"libclang cannot be loaded ({error})") from error
    return lib


def text(lib: Any, string: _String) -> str:
    """The text of a CXString, which is given back."""
    found = lib.clang_getCString(string)
    lib.clang_disposeString(string)
    return found.decode("utf-8", "replace") if found else ""


def overridden(lib: Any, method: Cursor) -> list[Cursor]:
    """The methods that a method overrides directly."""
    found, count = POINTER(Cursor)(), c_uint()
    lib.clang_getOverriddenCursors(method, byref(found), byref(count))
    copied = [Cursor.from_buffer_copy(found[number]) for number in range(count.value)]
    lib.clang_disposeOverriddenCursors(found)
    return copied


def new_index(lib: Any) -> int:
    """A set of units, to be disposed of."""
    options = IndexOptions(size=ctypes.sizeof(IndexOptions), bits=_INDEX_BITS)
    index: int = lib.clang_createIndexWithOptions(byref(options))
    return index


def version() -> str:
    """What the library says it is. Raises Missing."""
    lib = library()
    return text(lib, lib.clang_getClangVersion())


def placer(lib: Any) -> Callable[[_Location], tuple[int, int, int]]:
    """A function from a location to (handle of the file, line, column from 0) of where the text stands: in
    a macro's argument that argument, in its body the macro's use. The handle is 0 where no file is meant."""
    file, line, column = c_void_p(), c_uint(), c_uint()
    at = (byref(file), byref(line), byref(column), None)
    get = lib.clang_getFileLocation

    def place(location: _Location) -> tuple[int, int, int]:
        get(location, *at)
        return file.value or 0, line.value, column.value - 1

    return place
