"""What is to be read exactly in a tree, and with which arguments: once for each file with bodies.

A translation unit is read with its first command; of several variants one is enough to know what its
bodies mean. A header's inline bodies are read with the arguments of most of the units that may see it.
The tests are in `tests/test_exact_reading.py`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final, NamedTuple

from torchtalkd.compilation import Commands, Unit
from torchtalkd.engine.exact_closure import Closures, Generated, closures, members
from torchtalkd.facts import File
from torchtalkd.store.exact_rows import mask
from torchtalkd.store.view import View

READ_KINDS: Final = ("cpp", "c", "cuda")
"""What libclang reads on any machine; Objective-C++ needs Apple's headers."""


class Wanted(NamedTuple):
    """A file whose bodies are to be read."""

    path: str
    number: int
    arguments: tuple[str, ...]
    header: bool
    recipe: str


@dataclass(slots=True)
class Known:
    """All that is known of a tree at one revision."""

    revision: int
    root: str
    files: dict[str, File]
    wanted: dict[str, Wanted]
    """By path."""
    closures: Closures
    sizes: dict[int, int]
    generated: Mapping[str, Generated]
    includes: dict[int, list[str]]
    hashes: dict[int, int]
    """Of each file's path and bytes: the digest of a set is their sum."""
    headers: int
    """All files of C++ that are no units, as bits: what an include may mean whose file a macro names."""

    def closure(self, path: str) -> int:
        """The files that a file may see but itself, as bits."""
        number = self.files[path].id
        found = self.closures.closed.get(number, 0)
        if number in self.closures.anything:
            found |= self.headers
        return found & ~(1 << number)

    def closure_digest(self, path: str) -> str:
        """Of the paths and bytes of all these."""
        total = sum(self.hashes[number] for number in members(self.closure(path)))
        return f"{total % (1 << 128):032x}"


def known(
    view: View,
    commands: Commands,
    root: str,
    made: str,
    generated: Mapping[str, Generated],
    reader: str,
    before: Known | None,
) -> Known:
    """What is to be read at a view's revision. `reader` is the recipe of what reads; `before` is what was
    known of the same commands at an earlier revision: what has not changed of it is not computed again."""
    files = {file.path: file for file in view.files()}
    numbers = {path: file.id for path, file in files.items()}
    if before is None:
        includes = view.includes()
    else:
        includes = {n: names for n, names in before.includes.items() if n in set(numbers.values())}
        includes.update(view.includes(before.revision))
    names = {path: header.includes for path, header in generated.items()}
    same = (
        before is not None
        and before.includes == includes
        and before.generated is generated
        and {path: file.id for path, file in before.files.items()} == numbers
    )
    closed = (
        before.closures
        if same and before
        else closures(numbers, includes, names, _folders(commands, root, made), made)
    )
    sizes = {numbers[path]: stat[0] for path, stat in view.stats().items() if path in numbers}
    sizes.update({closed.numbers[path]: header.size for path, header in generated.items()})
    hashes = {file.id: _hash(path, file.digest) for path, file in files.items()}
    hashes.update(
        {closed.numbers[path]: _hash(path[len(made) :], header.digest) for path, header in generated.items()}
    )
    recipe = _recipes(root, made, reader, view.meta("parsers"))
    wanted = _units(commands.units, files, recipe)
    wanted.update(_headers(view, files, wanted, closed, recipe))
    headers = mask(
        file.id
        for path, file in files.items()
        if file.language in ("cpp", "cuda") and (path not in wanted or wanted[path].header)
    )
    return Known(view.revision, root, files, wanted, closed, sizes, generated, includes, hashes, headers)


def _folders(commands: Commands, root: str, made: str) -> list[str]:
    """The folders of the tree that any unit looks into for headers, from the root."""
    found: dict[str, None] = {}
    for unit in commands.units:
        waiting = False
        for argument in unit.arguments:
            folder = argument if waiting else argument[2:] if argument.startswith("-I") else ""
            waiting = argument in ("-isystem", "-iquote", "-I", "-idirafter")
            for top in (root, made):
                if folder == top or folder.startswith(f"{top}/"):
                    found[folder[len(top) :].strip("/")] = None
    return list(found)


def _units(
    units: Iterable[Unit], files: Mapping[str, File], recipe: Callable[[Sequence[str]], str]
) -> dict[str, Wanted]:
    found: dict[str, Wanted] = {}
    for unit in units:
        if unit.kind in READ_KINDS and unit.path in files and unit.path not in found:
            file = files[unit.path]
            found[unit.path] = Wanted(unit.path, file.id, unit.arguments, False, recipe(unit.arguments))
    return found


def _headers(
    view: View,
    files: Mapping[str, File],
    units: Mapping[str, Wanted],
    closed: Closures,
    recipe: Callable[[Sequence[str]], str],
) -> dict[str, Wanted]:
    """The headers with bodies that a unit may see, each with the arguments of most such units."""
    paths = {file.id: path for path, file in files.items()}
    bodies = 0
    for number in view.with_bodies():
        path = paths.get(number)
        if path is not None and path not in units and files[path].role == "library":
            bodies |= 1 << number
    by_arguments: dict[int, Counter[tuple[str, ...]]] = {}
    for unit in units.values():
        for number in members(closed.closed.get(unit.number, 0) & bodies):
            by_arguments.setdefault(number, Counter())[unit.arguments] += 1
    found = {}
    for number, counted in by_arguments.items():
        path = paths[number]
        # Of equally many the first by name, whatever came first.
        arguments = min(counted, key=lambda one: (-counted[one], one))
        found[path] = Wanted(path, number, arguments, True, recipe(arguments))
    return found


def _recipes(root: str, made: str, *common: str) -> Callable[[Sequence[str]], str]:
    """The same wherever the tree and the cache are."""
    digests: dict[Sequence[str], str] = {}

    def recipe(arguments: Sequence[str]) -> str:
        if arguments not in digests:
            text = "\0".join((*common, *arguments)).replace(made, "{made}").replace(root, "{root}")
            digests[arguments] = blake2b(text.encode(), digest_size=16).hexdigest()
        return digests[arguments]

    return recipe


def _hash(path: str, digest: str) -> int:
    return int.from_bytes(blake2b(f"{path}\0{digest}".encode(), digest_size=16).digest(), "big")
