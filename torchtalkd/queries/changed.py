"""From changed lines to what changed: functions of every language, entries, macros, tables, the build.

Lines that are only comments or blank change nothing. What a change takes away is found by the names in the
old lines: who still refers to them is affected. The tests are in `tests/test_affected.py`.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from torchtalkd import keys
from torchtalkd.facts import File, FiledDefinition
from torchtalkd.link.includes import is_header
from torchtalkd.queries.edges import packet_node
from torchtalkd.queries.owners import owner_of
from torchtalkd.queries.units import units
from torchtalkd.store.view import View

WIDELY: Final = 0.2
"""The share of all C++ files that take a header in, from which on it is widely included."""
MOST_USES: Final = 400
"""Uses of a macro, above which nothing can be narrowed."""
MOST_FILES: Final = 40
"""Files that take a header in, of which each function counts as changed with what is no function of it."""
_CPP: Final = ("cpp", "cuda", "objcpp", "metal")
_BODIES: Final = ("function", "kernel", "structured_impl", "structured_meta", "class", "autograd_function")
_PLACES: Final = (
    *_BODIES,
    "macro",
    "macro_use",
    "registration",
    "schema",
    "stub",
    "stub_kernel",
    "python_binding",
)
_BUILD: Final = (
    ".cmake",
    ".bzl",
    ".bazel",
    "cmakelists.txt",
    "setup.py",
    "pyproject.toml",
    "buck.oss",
    "meson.build",
)
_DOCS: Final = (
    ".md",
    ".rst",
    ".txt",
    ".png",
    ".svg",
    ".jpg",
    ".gif",
    ".ipynb",
    ".cff",
    "license",
    "notice",
    "codeowners",
)
_COMMENT: Final = {"cpp": re.compile(r"\s*(//.*|/\*[^*]*\*/\s*)?"), "hash": re.compile(r"\s*(#.*)?")}
_PYTHON_NAME: Final = re.compile(r"\s*(?:async\s+)?(?:def|class)\s+(\w+)")
_CPP_NAME: Final = re.compile(r"([A-Za-z_]\w*)\s*\(")
_YAML_NAME: Final = re.compile(r"-\s*(?:func|name):\s*([\w.:]+)")


class ChangedFile(NamedTuple):
    """What changed in one file; lines are 1-based."""

    path: str
    """As the difference writes it."""
    old_path: str = ""
    deleted: bool = False
    binary: bool = False
    added: tuple[int, ...] = ()
    """Lines of the new text."""
    gaps: tuple[int, ...] = ()
    """Lines of the new text before which some are gone."""
    text: tuple[str, ...] = ()
    """What the lines say, old and new."""
    old_text: tuple[str, ...] = ()


class Thing(NamedTuple):
    """Something that changed."""

    name: str
    kind: str
    """function, class, operator, macro, file, test file, gone, …"""
    file: str
    line: int
    nodes: tuple[FiledDefinition, ...]
    """Where the walk to the tests begins."""
    module: str = ""
    """For what stands at the top of a Python file: the module, as who imports it is affected."""


@dataclass(slots=True)
class Changed:
    """What some differences come to."""

    things: list[Thing] = field(default_factory=list)
    tests: list[str] = field(default_factory=list)
    """Test files that changed themselves."""
    everything: list[str] = field(default_factory=list)
    """Why nothing can be narrowed."""
    nothing: list[str] = field(default_factory=list)
    """Files whose change is no change of code."""
    unknown: list[str] = field(default_factory=list)
    """Files that the index knows nothing of."""


def changed(view: View, files: Iterable[ChangedFile]) -> Changed:
    """What changed. Read-only. The index is of the tree after the change."""
    found = Changed()
    for change in files:
        file = _file(view, change.path)
        path = file.path if file is not None else change.path
        if _is_comment(path, file, change):
            found.nothing.append(path)
        elif _is_build(path, change):
            found.everything.append(f"{path} is part of the build")
        elif file is None:
            _unknown(view, found, change)
        elif file.role == "template":
            found.everything.append(f"{path} is a template of generated code")
        else:
            _known(view, found, file, change)
    return found


def is_constant(definition: FiledDefinition) -> bool:
    """Whether it is a macro without parameters, of which no use is known."""
    return definition.fact.kind == "macro" and bool((definition.fact.detail or {}).get("constant"))


def change_constant(view: View, found: Changed, macro: FiledDefinition) -> None:
    """Adds what a macro without parameters comes to: all that its file has, and who takes that in."""
    if not (is_header(macro.file.path) and _header(view, found, macro.file.path)):
        _around(view, found, macro.file, _places(view, macro.file), macro.fact.line)


def _file(view: View, written: str) -> File | None:
    """The file of the index that a path of a difference means, which may begin above or below the root."""
    parts = written.split("/")
    for at in range(min(len(parts), 6)):
        file = view.file("/".join(parts[at:]))
        if file is not None:
            return file
    ends = [file for file in view.files() if file.path.endswith("/" + written)]
    return ends[0] if len(ends) == 1 else None


def _is_comment(path: str, file: File | None, change: ChangedFile) -> bool:
    if change.binary or (change.deleted and file is None):
        return False
    low = path.lower()
    if file is None and low.endswith(_DOCS) and not low.endswith("cmakelists.txt"):
        return True
    language = file.language if file is not None else ""
    comment = _COMMENT["cpp" if language in _CPP else "hash"]
    # Files of other kinds may mean anything by a `#`.
    return bool(language) and all(comment.fullmatch(line) for line in change.text)


def _is_build(path: str, change: ChangedFile) -> bool:
    low = path.lower()
    base = low.rpartition("/")[2]
    builds = base.endswith(_BUILD) or base in ("build", "makefile", "cmakelists.txt")
    return builds and not low.startswith(("test/", "tests/", "docs/", "benchmarks/", "third_party/"))


def _unknown(view: View, found: Changed, change: ChangedFile) -> None:
    if change.deleted:
        if is_header(change.path):
            _header(view, found, change.path)
        gone = list(_gone(view, None, change))
        found.things.extend(gone)
        if not gone:
            found.unknown.append(change.path)
        return
    found.unknown.append(change.path)


def _known(view: View, found: Changed, file: File, change: ChangedFile) -> None:
    if file.role == "test" and file.language == "python":
        found.tests.append(file.path)
    header = file.language in _CPP and is_header(file.path) and not file.path.endswith((".cu", ".cpp"))
    if header and _header(view, found, file.path):
        return
    found.things.extend(_gone(view, file, change))
    if file.language in ("native_functions", "derivatives", "tags"):
        _entries(view, found, file, change)
        return
    definitions = _places(view, file)
    outside: list[int] = []
    touched: dict[int, FiledDefinition] = {}
    for line, _, inner in _around_lines(definitions, change.added, change.gaps):
        if inner is None:
            outside.append(line)
        else:
            touched.update((d.id, d) for d in _beside(definitions, inner))
    said = dict(zip(change.added, change.text[-len(change.added) :], strict=False)) if change.added else {}
    for definition in touched.values():
        _touched(view, found, definition)
    comment = _COMMENT["cpp" if file.language in _CPP else "hash"]
    outside = [line for line in outside if not comment.fullmatch(said.get(line, "x"))]
    if outside:
        _around(view, found, file, definitions, outside[0])


def _places(view: View, file: File) -> list[FiledDefinition]:
    """What a changed line of a file may stand in."""
    return [d for d in view.definitions_in(file) if d.fact.kind in _PLACES and not is_constant(d)]


def _around_lines(
    definitions: list[FiledDefinition], lines: Iterable[int], gaps: Iterable[int]
) -> list[tuple[int, bool, FiledDefinition | None]]:
    """Each changed line, whether it is a gap, and the smallest definition around it; around the place before
    it where lines are gone."""
    ordered = sorted(definitions, key=lambda d: (d.fact.line, -d.fact.end_line))
    found: list[tuple[int, bool, FiledDefinition | None]] = []
    for asked, gap in ((sorted(set(lines)), False), (sorted(set(gaps)), True)):
        around: dict[int, FiledDefinition] = {}
        for definition in ordered:
            fact = definition.fact
            first = fact.line + 1 if gap else fact.line - _BEFORE
            for line in asked[bisect_left(asked, first) : bisect_right(asked, fact.end_line)]:
                outer = around.get(line)
                # The line before a name may be the last of what ends there, or stand in a function's body.
                if line >= fact.line or outer is None or not _keeps(outer, fact.line):
                    around[line] = definition
        found += [(line, gap, around.get(line)) for line in asked]
    return found


def _beside(definitions: list[FiledDefinition], inner: FiledDefinition) -> Iterator[FiledDefinition]:
    """What stands on the very lines of a definition: the use of a macro may make several."""
    place = (inner.fact.line, inner.fact.end_line, inner.fact.scope)
    return (d for d in definitions if (d.fact.line, d.fact.end_line, d.fact.scope) == place)


def _keeps(outer: FiledDefinition, line: int) -> bool:
    """Whether the line before one where a definition begins belongs to another that is around it."""
    return outer.fact.kind in ("function", "kernel") or outer.fact.end_line < line


_BEFORE: Final = 1
"""Lines above a name that are its own: a decorator, the type that it returns."""


def _touched(view: View, found: Changed, definition: FiledDefinition) -> None:
    fact = definition.fact
    if fact.kind == "macro":
        uses = len(view.references(fact.key)) + len(view.of_kind(fact.key, "macro_use"))
        if uses > MOST_USES:
            found.everything.append(f"the macro {fact.name} is used in {uses} places")
            return
    nodes = [definition]
    if fact.declares:
        bodies = [d for d in view.named(fact.key, fact.name) if not d.fact.declares]
        nodes = bodies or nodes
    if fact.kind in ("class", "autograd_function"):
        nodes += [
            d
            for d in view.definitions_in(definition.file)
            if d.fact.scope >= 0 and view.scope(d) == definition
        ]
    if fact.kind in ("registration", "schema") and keys.space(fact.key) == keys.space(keys.op("")):
        operator = packet_node(view, str(keys.operator_name(fact.name)._replace(overload="")))
        nodes = [operator] if operator is not None else nodes
    found.things.append(Thing(fact.name, fact.kind, definition.file.path, fact.line, tuple(nodes)))


def _around(view: View, found: Changed, file: File, definitions: list[FiledDefinition], line: int) -> None:
    """What stands outside of all functions: in Python for who imports it, in C++ for the whole file."""
    if file.language == "python":
        modules = [d for d in view.definitions_in(file) if d.fact.kind == "module"]
        name = modules[0].fact.name if modules else file.path
        found.things.append(Thing(name, "module", file.path, line, tuple(modules), module=name))
        return
    bodies = tuple(d for d in definitions if not d.fact.declares)
    if file.language in _CPP and is_header(file.path):
        taking = units(view, {file.path})
        for path in sorted({*taking.units, *taking.headers})[: MOST_FILES + 1]:
            other = view.file(path)
            if other is not None:
                bodies += tuple(
                    d for d in view.definitions_in(other) if d.fact.kind in _BODIES and not d.fact.declares
                )
    found.things.append(Thing(file.path, "file", file.path, line, bodies))


def _header(view: View, found: Changed, path: str) -> bool:
    """Whether a header is taken in so widely that nothing can be narrowed; says so."""
    taking = units(view, {path})
    total = sum(f.language in _CPP and not is_header(f.path) for f in view.files())
    if total and len(taking.units) > max(MOST_FILES, WIDELY * total):
        found.everything.append(f"{path} is included by {len(taking.units)} of {total} C++ files")
        return True
    return False


def _entries(view: View, found: Changed, file: File, change: ChangedFile) -> None:
    entries = [d for d in view.definitions_in(file) if d.fact.kind in ("operator", "derivative", "tag")]
    for line, gap, inner in _around_lines(entries, change.added, change.gaps):
        if inner is None and gap:
            continue
        if inner is None:
            found.everything.append(f"{file.path}:{line} stands in no entry, and code is generated from it")
            return
        if inner.fact.kind == "tag":
            tag = inner.fact.name
            nodes = tuple(
                d
                for d in view.definitions_of_kind("operator")
                if tag in ((d.fact.detail or {}).get("tags") or ())
            )
        else:
            operator = packet_node(view, str(keys.operator_name(inner.fact.name)._replace(overload="")))
            nodes = (operator,) if operator is not None else (inner,)
        thing = Thing(inner.fact.name, inner.fact.kind, file.path, inner.fact.line, nodes)
        if thing not in found.things:
            found.things.append(thing)


def _gone(view: View, file: File | None, change: ChangedFile) -> Iterator[Thing]:
    """What the old lines defined and the file no longer does: who refers to it by its name."""
    here = {keys.last(d.fact.key) for d in view.definitions_in(file)} if file is not None else set()
    python = (file.path if file is not None else change.path).endswith((".py", ".pyi"))
    yaml = change.path.endswith(".yaml")
    names: dict[str, None] = {}
    for line in change.old_text:
        if python:
            match = _PYTHON_NAME.match(line)
            found = [match[1]] if match else []
        elif yaml:
            match = _YAML_NAME.search(line)
            found = [keys.operator_name(match[1]).base] if match else []
        elif line[:1].isspace() or line.rstrip().endswith(";"):
            found = []
        else:
            found = [match[1] for match in [_CPP_NAME.search(line)] if match]
        names.update(dict.fromkeys(name for name in found if name not in here))
    for name in names:
        spaces = (
            (keys.py(name), keys.attr(name)) if python else (keys.cpp(name), keys.macro(name), keys.op(name))
        )
        owners: dict[int, FiledDefinition] = {}
        for key in spaces:
            for reference in view.references(key)[:MOST_USES]:
                owner = owner_of(view, reference)
                if owner is not None:
                    owners[owner.id] = owner
        yield Thing(name, "gone", file.path if file is not None else change.path, 0, tuple(owners.values()))
