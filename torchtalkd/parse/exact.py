"""A translation unit, or the inline bodies of headers, as libclang understands it → ExactUnit.

The facts are a function of the arguments and of the texts that are read, the unit's own and those that it
includes. A crash of libclang ends the process: callers run this in one that they can spare
(`engine.exact_worker`). The tests are in `tests/test_parse_exact.py`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from ctypes import byref, c_char_p, c_void_p
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from torchtalkd.parse import exact_libclang as c
from torchtalkd.parse.exact_libclang import Missing, text, version
from torchtalkd.parse.exact_names import Names, normal
from torchtalkd.parse.exact_walk import Walk
from torchtalkd.readings import Diagnostic, ExactUnit

__all__ = ["Failed", "Missing", "Read", "precompile", "read", "recipe", "version"]

MOST_ERRORS: Final = 200
"""Errors of one file that are kept; more only follow from these."""
_MISSING: Final = re.compile(r"'([^']*)' file not found")


class Failed(Exception):
    """libclang gives nothing for a unit; `str()` says what it said."""


class Read(NamedTuple):
    """What one parse gave."""

    units: tuple[ExactUnit, ...]
    """One for each wanted file, by path."""
    errors: tuple[Diagnostic, ...]
    """All of the parse, whichever file they are in."""


def read(
    file: str,
    arguments: Sequence[str],
    root: str,
    *,
    headers: Collection[str] = (),
    whole: bool = False,
) -> Read:
    """Reads a unit: `file` is absolute, `root` the resolved tree. The bodies of the file itself are given,
    or of `headers` (paths from the root) where there are any: then `file` only includes them. What is
    included before the first declaration is read without bodies, which saves a third, unless `whole`:
    headers among it have none then. Raises Missing, Failed."""
    options = c.KEEP_GOING if whole else c.KEEP_GOING | c.SKIP_INCLUDED_BODIES
    with _Parsed(file, arguments, options) as parsed:
        lib = parsed.lib
        wanted = frozenset(headers) or frozenset({normal(file, f"{root}/")})
        names = Names(lib, root, wanted.__contains__)
        known: dict[int, bool] = {0: False}

        def is_wanted(handle: int) -> bool:
            found = known.get(handle)
            if found is None:
                found = known[handle] = names.path(handle) in wanted
            return found

        walk = Walk(lib, names, is_wanted, cuda="cuda" in arguments)
        walk.run(parsed.unit)
        errors = _errors(parsed, root)
        # Of several headers together each has the errors in its own text.
        units = tuple(
            _unit(path, walk, [e for e in errors if e.path == path] if headers else errors)
            for path in sorted(wanted)
        )
        return Read(units, errors)


def precompile(file: str, arguments: Sequence[str], root: str, target: str) -> tuple[Diagnostic, ...]:
    """Writes a precompiled header, its functions without bodies; returns its errors, which a unit that
    uses it no longer shows. Raises Missing, Failed."""
    options = c.FOR_SERIALIZATION | c.INCOMPLETE | c.SKIP_BODIES | c.KEEP_GOING
    with _Parsed(file, arguments, options) as parsed:
        code = parsed.lib.clang_saveTranslationUnit(parsed.unit, target.encode(), 0)
        if code:
            raise Failed(f"a precompiled header could not be written (libclang's code {code})")
        return _errors(parsed, root)


@cache
def recipe() -> str:
    """Of what reads: another text of these modules, or another libclang, may give other facts. Raises
    Missing."""
    from hashlib import blake2b

    digest = blake2b(version().encode(), digest_size=8)
    for source in sorted(Path(__file__).parent.glob("exact*.py")):
        digest.update(source.read_bytes())
    return digest.hexdigest()


class _Parsed:
    """A translation unit for as long as it is walked."""

    def __init__(self, file: str, arguments: Sequence[str], options: int) -> None:
        self.lib = c.library()
        self._index = c.new_index(self.lib)
        unit = c_void_p()
        flags = (c_char_p * len(arguments))(*(argument.encode() for argument in arguments))
        code = self.lib.clang_parseTranslationUnit2(
            self._index,
            file.encode(),
            flags,
            len(arguments),
            None,
            0,
            options,
            byref(unit),
        )
        self.unit = unit
        if code or not unit.value:
            self.__exit__()
            raise Failed(f"libclang cannot read it (its code {code})")

    def __enter__(self) -> _Parsed:
        return self

    def __exit__(self, *_: object) -> None:
        if self.unit.value:
            self.lib.clang_disposeTranslationUnit(self.unit)
        self.lib.clang_disposeIndex(self._index)


def _errors(parsed: _Parsed, root: str) -> tuple[Diagnostic, ...]:
    lib: Any = parsed.lib
    place = c.placer(lib)
    found: list[Diagnostic] = []
    counts = Counter[int]()
    for number in range(lib.clang_getNumDiagnostics(parsed.unit)):
        diagnostic = lib.clang_getDiagnostic(parsed.unit, number)
        handle, line, _ = place(lib.clang_getDiagnosticLocation(diagnostic))
        if lib.clang_getDiagnosticSeverity(diagnostic) >= c.ERROR and counts[handle] < MOST_ERRORS:
            counts[handle] += 1
            file = text(lib, lib.clang_getFileName(handle)) if handle else ""
            message = text(lib, lib.clang_getDiagnosticSpelling(diagnostic))
            missing = _MISSING.search(message)
            found.append(
                Diagnostic(
                    normal(file, f"{root}/") or file, line, message, missing.group(1) if missing else ""
                )
            )
        lib.clang_disposeDiagnostic(diagnostic)
    return tuple(dict.fromkeys(found))


def _unit(path: str, walk: Walk, errors: Sequence[Diagnostic]) -> ExactUnit:
    bodies = walk.bodies.get(path, ())
    counts = walk.counts.get(path, Counter())
    used = sorted({site.target for body in bodies for site in body.sites})
    renumbered = {number: position for position, number in enumerate(used)}
    return ExactUnit(
        path,
        tuple(
            body._replace(sites=tuple(site._replace(target=renumbered[site.target]) for site in body.sites))
            for body in bodies
        ),
        tuple(walk.targets[number] for number in used),
        counts["resolved"],
        counts["dependent"],
        counts["unresolved"],
        tuple(errors),
    )
