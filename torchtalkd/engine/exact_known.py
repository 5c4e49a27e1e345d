"""What is to be read exactly in a tree, and with which arguments: once for each file with bodies.

A translation unit is read with its first command; of several variants one is enough to know what its
bodies mean. A header's inline bodies are read with the arguments of most of the units that may see it.
The tests are in `tests/test_exact_reading.py`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import Final, NamedTuple

from torchtalkd.compilation import Commands, Unit, leading_to_special
from torchtalkd.compilation.reaching import members
from torchtalkd.compilation.report import include_folders_of
from torchtalkd.engine.exact_closure import Closures, Generated, closures
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
    bodied: frozenset[int]
    """The files with definitions that a compiler sees code in."""
    special: dict[str, str]
    """The files with an include that may lead to a device, a pipe or a socket → that path."""

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

    def refused(self, path: str) -> str:
        """Why a compiler must not be shown a file, a sentence; '' where it may. Invariant: nothing is given
        to libclang that may open what never ends."""
        if not self.special:
            return ""
        bits = self.closure(path) | 1 << self.files[path].id
        for includer, special in self.special.items():
            if bits >> self.closures.numbers[includer] & 1:
                return f"{includer} includes {special}, which is no file but a device, a pipe or a socket"
        return ""


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
    since = before.revision if before is not None else 0
    there = frozenset(numbers.values())
    includes, bodied = view.includes(since), view.with_bodies(since)
    if before is not None:
        kept = there - includes.keys()
        includes.update({n: names for n, names in before.includes.items() if n in kept})
        bodied |= before.bodied & kept
    same = (
        before is not None
        # What is special may have become a file that no fact tells of.
        and not before.special
        and before.includes == includes
        and before.bodied == bodied
        and before.generated is generated
        and {path: file.id for path, file in before.files.items()} == numbers
    )
    if same and before is not None:
        # A save of a body, as most are.
        hashes, sizes = dict(before.hashes), dict(before.sizes)
        changed = {path: file for path, file in files.items() if file is not before.files[path]}
        hashes.update({f.id: _hash(path, f.digest) for path, f in changed.items() if f != before.files[path]})
        return replace(before, revision=view.revision, files=files, hashes=hashes, sizes=sizes)
    names = {path: header.includes for path, header in generated.items()}
    closed = closures(numbers, includes, names, _folders(commands, root, made), made)
    sizes = {numbers[path]: stat[0] for path, stat in view.stats().items() if path in numbers}
    sizes.update({closed.numbers[path]: header.size for path, header in generated.items()})
    hashes = {file.id: _hash(path, file.digest) for path, file in files.items()}
    hashes.update(
        {closed.numbers[path]: _hash(path[len(made) :], header.digest) for path, header in generated.items()}
    )
    special = _special(root, commands, generated, files, includes, before)
    recipe = _recipes(root, made, reader, view.meta("parsers"))
    wanted = _units(commands.units, files, recipe)
    wanted.update(_headers(bodied, files, wanted, closed, recipe))
    headers = mask(
        file.id
        for path, file in files.items()
        if file.language in ("cpp", "cuda") and (path not in wanted or wanted[path].header)
    )
    found = Known(
        view.revision,
        root,
        files,
        wanted,
        closed,
        sizes,
        generated,
        includes,
        hashes,
        headers,
        bodied,
        special,
    )
    for path, one in wanted.items():
        if why := found.refused(path):
            # What is refused becomes stale when it no longer is, and the other way round.
            wanted[path] = one._replace(recipe=recipe((*one.arguments, why)))
    return found


def without_unmade(now: Known, unmade: re.Pattern[str]) -> Known:
    """Leaves out what may see a header that a generator would make and did not: a compiler would find next
    to nothing there, and take its time for it. `unmade`: how such headers are included."""
    lacking = mask(number for number, names in now.includes.items() if any(map(unmade.fullmatch, names)))
    wanted = {
        path: one
        for path, one in now.wanted.items()
        if not (now.closures.closed.get(one.number, 0) | 1 << one.number) & lacking
    }
    return replace(now, wanted=wanted)


def _special(
    root: str,
    commands: Commands,
    generated: Mapping[str, Generated],
    files: Mapping[str, File],
    includes: Mapping[int, list[str]],
    before: Known | None,
) -> dict[str, str]:
    """The disk is asked about all includes, or, where no file came or went, about those that changed. A pipe
    in the place of a header is a file that went."""
    there = {path: includes.get(file.id, []) for path, file in files.items()}
    if before is not None and before.generated is generated and before.files.keys() == files.keys():
        there = {
            path: names
            for path, names in there.items()
            if path in before.special or names != before.includes.get(files[path].id, [])
        }
        kept = {path: what for path, what in before.special.items() if path not in there}
    else:
        there.update({path: header.includes for path, header in generated.items()})
        kept = {}
    folders: dict[str, None] = {}
    for arguments in dict.fromkeys(unit.arguments for unit in commands.units):
        folders.update(dict.fromkeys(include_folders_of(arguments)))
    return {**kept, **leading_to_special(Path(root), there, folders)}


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
    bodied: Iterable[int],
    files: Mapping[str, File],
    units: Mapping[str, Wanted],
    closed: Closures,
    recipe: Callable[[Sequence[str]], str],
) -> dict[str, Wanted]:
    """The headers with bodies that a unit may see, each with the arguments of most such units."""
    paths = {file.id: path for path, file in files.items()}
    bodies = 0
    for number in bodied:
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
