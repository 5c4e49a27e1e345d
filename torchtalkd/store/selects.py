"""What the View's questions are in SQL: the beginnings and the conditions. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from torchtalkd.store.rows import ID_BITS

FILE = "SELECT id, path, language, role, digest FROM file"
STAT = "SELECT path, size, mtime_ns, inode, ctime_ns FROM file"
DEFINITION = (
    "SELECT id, key, name, kind, line, col, end_line, scope, flags, signature, dispatch_key, convention,"
    " guard, detail, body FROM definition"
)
PATH_OF_DEFINITION = f"(SELECT path FROM file WHERE file.id = definition.id >> {ID_BITS})"
SCOPE = "SELECT id, scope FROM definition"
SITES = "SELECT key, name, kind, sites FROM reference"
DECORATORS = f"""SELECT json_extract(detail, '$.decorators') FROM file CROSS JOIN definition
 ON definition.id BETWEEN file.id << {ID_BITS} AND (file.id << {ID_BITS}) + {(1 << ID_BITS) - 1}
 WHERE role = ? AND language = 'python' AND detail LIKE '%"decorators":[%'"""
_INDEXED_KINDS = ("operator", "schema", "derivative", "stub", "stub_kernel", "library", "kernel", "registry")
_INDEXED = "kind IN ('operator','schema','derivative','stub','stub_kernel','library','kernel','registry')"
"""As in indexes.sql, word for word: only so SQLite uses the index."""
IN_LIBRARY = '%"library":"_%'
"""Of the detail of a macro's use: it stands in a library block."""
MAKING = '%"makes":%'
"""Of the detail of a macro: it makes definitions in the files that use it."""
_CLASS = "kind IN ('base','holds')"
"""As in indexes.sql, word for word."""
IMPORTING = """owner IN (SELECT id FROM definition WHERE kind = 'alias' AND detail LIKE '%"import":true%')"""
"""Of targets: those of imports."""


def of_kind(kind: str) -> str:
    """That a definition is of the kind given as value; by an index for the kinds that have one."""
    if kind == "test":
        # All tests have keys of one space, which are together in an index.
        return "kind = ? AND key >= 'test:' AND key < 'test;'"
    return f"kind = ? AND {_INDEXED}" if kind in _INDEXED_KINDS else "kind = ?"


def in_file_of_kinds(kinds: Collection[str]) -> str:
    """That a definition is one of a file's, whose first and last id are given, and of the kinds given."""
    return f"id BETWEEN ? AND ? AND kind IN ({','.join('?' * len(kinds))}) ORDER BY id"


def sites_of_kind(key: str, kind: str) -> tuple[str, tuple[str, str]]:
    """That a reference has a key ('': any) and a kind, and the condition's values; by an index for the
    kinds that have one."""
    which = "key = ?" if key else "key > ?"
    return f"{which} AND kind = ?{f' AND {_CLASS}' if kind in ('base', 'holds') else ''}", (key, kind)


def named_like(names: Iterable[str], begins: Iterable[str]) -> tuple[str, tuple[str, ...]]:
    """That a name is one of `names` or has one of the beginnings, and the condition's values."""
    exact = tuple(names)
    ranges = [part for begin in begins for part in (begin, begin[:-1] + chr(ord(begin[-1]) + 1))]
    parts = [f"name IN ({','.join('?' * len(exact))})", *["(name >= ? AND name < ?)"] * (len(ranges) // 2)]
    return f"({' OR '.join(parts)})", (*exact, *ranges)
