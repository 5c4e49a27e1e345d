"""Which headers each C++ file sees, as bits: a name means nothing of a header that is not taken in."""

from __future__ import annotations

import posixpath

from torchtalkd.link.includes import may_mean
from torchtalkd.queries.runs.facts import Tree


def seen(tree: Tree) -> dict[int, int]:
    """File → a number with the bit of each file that it takes in, itself included; the bit of a file is
    that of its place among the keys."""
    by_base: dict[str, list[tuple[int, str]]] = {}
    place: dict[int, int] = {}
    for file in tree.files.values():
        if file.language in ("cpp", "cuda", "objcpp", "metal"):
            place[file.id] = len(place)
            by_base.setdefault(file.path.rpartition("/")[2], []).append((file.id, file.path))
    after: dict[int, list[int]] = {}
    known: dict[tuple[str, str], list[int]] = {}
    for mention in tree.mentions:
        if mention.kind != "include" or mention.file not in place:
            continue
        candidates = by_base.get(mention.key.partition(":")[2])
        if not candidates:
            continue
        path = tree.files[mention.file].path
        asked = (posixpath.dirname(path), mention.name)
        found = known.get(asked)
        if found is None:
            found = known[asked] = [number for number, other in candidates if may_mean(mention.name, path, other)]
        after.setdefault(mention.file, []).extend(found)
    return _closed(place, after)


def _closed(place: dict[int, int], after: dict[int, list[int]]) -> dict[int, int]:
    bits = {file: 1 << at for file, at in place.items()}
    before: dict[int, list[int]] = {}
    for file, others in after.items():
        for other in others:
            before.setdefault(other, []).append(file)
    waiting = dict.fromkeys(bits)
    while waiting:
        file, _ = waiting.popitem()
        own = bits[file]
        for other in before.get(file, ()):
            if own | bits[other] != bits[other]:
                bits[other] |= own
                waiting[other] = None
    return bits
