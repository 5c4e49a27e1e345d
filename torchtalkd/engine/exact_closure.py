"""Which files may a unit see? From the `#include` facts, over both branches of each #if.

An include is taken for every file that it may mean: beside the file that it stands in, and in each folder
that any unit looks into. So a closure may be too large, which costs a reading, and is never too small,
which would cost the truth. Sets of files are kept as bits, so that those of a whole tree take milliseconds.
The tests are in `tests/test_exact_groups.py`.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Final, NamedTuple

from torchtalkd.compilation.closure import ANY
from torchtalkd.compilation.plain_files import plain_bytes
from torchtalkd.compilation.reaching import closed

MOST_BYTES: Final = 32 << 20
"""Of a text that is looked into."""
_INCLUDE: Final = re.compile(
    rb"^[ \t]*#[ \t]*(?:include(?:_next)?|import)[ \t]*[<\"]([^>\"\n]+)[>\"]", re.MULTILINE
)


class Closures(NamedTuple):
    """The closures of a tree's files. A file is a bit: that of its number in the index, and for what was
    generated the bits from `generated` on."""

    numbers: Mapping[str, int]
    """Path → bit: of the tree from its root, of what was generated absolute."""
    direct: Mapping[int, frozenset[int]]
    """Bit → the files that it names itself."""
    closed: Mapping[int, int]
    """Bit → all that it may see, itself among it."""
    generated: int
    anything: frozenset[int] = frozenset()
    """Files that include what a macro names: they may see any file."""

    def of_tree(self, bits: int) -> int:
        """Those of a set that are files of the tree."""
        return bits & ((1 << self.generated) - 1)


def closures(
    files: Mapping[str, int],
    includes: Mapping[int, Sequence[str]],
    generated: Mapping[str, Sequence[str]],
    folders: Iterable[str],
    made: str,
) -> Closures:
    """`files`: path → number, `includes`: number → what it includes, as written, `generated`: absolute path
    → the same, for the headers in `made`, `folders`: where includes are looked for, from the root (those of
    `made`, which mirrors the tree, follow from them)."""
    first = max(files.values(), default=0) + 1
    numbers = {**files, **{path: first + n for n, path in enumerate(sorted(generated))}}
    looked = [folder.strip("/") for folder in dict.fromkeys(folders)]
    known: dict[str, tuple[int, ...]] = {}

    def from_folders(name: str) -> tuple[int, ...]:
        found = known.get(name)
        if found is None:
            places = [posixpath.normpath(posixpath.join(folder, name)) for folder in looked]
            meant = [n for place in places for n in (numbers.get(place), numbers.get(f"{made}/{place}"))]
            found = known[name] = tuple(dict.fromkeys(n for n in meant if n is not None))
        return found

    def resolved(path: str, names: Sequence[str]) -> frozenset[int]:
        folder = posixpath.dirname(path)
        beside = (numbers.get(posixpath.normpath(posixpath.join(folder, name))) for name in names)
        return frozenset(
            [n for n in beside if n is not None] + [n for name in names for n in from_folders(name)]
        )

    open_ended = [number for number, names in includes.items() if ANY in names]
    paths = {number: path for path, number in files.items()}
    direct = {number: resolved(paths[number], names) for number, names in includes.items() if number in paths}
    direct.update({numbers[path]: resolved(path, names) for path, names in generated.items()})
    seen = closed(numbers.values(), direct)
    wanted = 0
    for number in open_ended:
        wanted |= 1 << number
    anything = frozenset(number for number, bits in seen.items() if bits & wanted) if wanted else frozenset()
    return Closures(numbers, direct, seen, first, anything)


class Generated(NamedTuple):
    """A header that was made for a tree."""

    includes: list[str]
    digest: str
    size: int


def generated_headers(folder: Path, made: Path) -> dict[str, Generated]:
    """The headers in the folder of what was generated, by their path under the name `made`, which leads
    there. Reads them all: 0.9 s for the 7,000 of PyTorch."""
    found = {}
    for within, _, names in os.walk(folder):
        for name in names:
            if name.endswith((".h", ".hpp", ".inl", ".cuh")):
                path = os.path.join(within, name)
                data = plain_bytes(path, MOST_BYTES)
                if data is None:
                    continue
                path = f"{made}{path[len(str(folder)) :]}"
                written = [match.decode("utf-8", "replace") for match in _INCLUDE.findall(data)]
                found[path] = Generated(written, blake2b(data, digest_size=16).hexdigest(), len(data))
    return found
