"""A first manifest for a tree, from what a survey saw and an index counted. Pure.

What is a guess about meaning stands in it as a comment; what only says where things are, and
macros whose shape their spelling leaves no doubt about, stand as they are.
The tests are in `tests/test_harness.py`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from torchtalkd.harness.proposals import COUNTED, proposal
from torchtalkd.harness.survey import Folders, Survey
from torchtalkd.harness.values import Site


def draft(
    name: str,
    extends: str,
    found: Survey,
    counts: Mapping[str, int],
    unmatched: Iterable[Sequence[Site]],
) -> str:
    """The text of a manifest. `counts` are the facts of each kind that an index of the tree holds,
    `unmatched` the sites that no convention reads, by spelling."""
    groups = [(group, proposal(group)) for group in unmatched]
    shapes = [text for group, text in groups if text and group[0].form in ("library", "macro")]
    parts = [
        _head(name, extends, found, counts),
        _files(found),
        _cpp(found, shapes),
        _python(found),
        *(_binding(group, text) for group, text in groups if text and text not in shapes),
        _rest([group for group, text in groups if not text]),
    ]
    return "\n".join(part for part in parts if part)


def _head(name: str, extends: str, found: Survey, counts: Mapping[str, int]) -> str:
    made = ", ".join(f"{counts[kind]} {kind}" for kind in COUNTED if counts.get(kind)) or "none"
    lines = [
        f"# Drafted from the tree by `torchtalkd harness new {name}`: correct it, delete what is not needed.",
        "# docs/manifests.md describes the fields; `torchtalkd harness verify` says what is still missed.",
        f"# C++ and CUDA: {_told(found.cpp)}",
        f"# Python: {_told(found.python)}",
        f"# Tests: {_told(found.tests)}",
        f"# Registrations that were found without what this draft adds: {made}",
        "format = 1",
        f"name = {json.dumps(name)}",
        f"extends = {json.dumps(extends)}",
    ]
    return "\n".join(lines) + "\n"


def _told(folders: Folders) -> str:
    shown = [(folder, count) for folder, count in folders.largest if folder.isprintable()]
    where = ", ".join(f"{folder or 'the root'} {count}" for folder, count in shown)
    return f"{folders.total} files ({where})" if folders.total else "none"


def _files(found: Survey) -> str:
    lines = []
    if found.test_folders:
        lines.append(_list("tests", found.test_folders))
    if found.foreign:
        lines.append(
            "# Submodules, or with a licence of their own. Not to read other projects' code, uncomment:"
        )
        lines.append("\n".join(f"# {line}" for line in _list("ignore", found.foreign).split("\n")))
    return "\n".join(["[files]", *lines]) + "\n" if lines else ""


def _cpp(found: Survey, shapes: Sequence[str]) -> str:
    lines = []
    if found.attributes:
        lines.append("# Attributes that the tree defines: they stand where the grammar allows no name.")
        lines.append(_list("blank", found.attributes))
    if shapes:
        rows = [line for text in shapes for line in text.split("\n") if line.startswith("  {")]
        lines.append("\n".join(["shapes = [", *rows, "]"]))
    return "\n".join(["[cpp]", *lines]) + "\n" if lines else ""


def _python(found: Survey) -> str:
    return "[python]\n" + _list("roots", found.python_roots) + "\n" if found.python_roots else ""


def _binding(group: Sequence[Site], text: str) -> str:
    lines = [f"# {_places(group)}", *(f"# {line}" for line in text.rstrip("\n").split("\n"))]
    return "\n".join(["# A guess; uncomment if it is one:", *lines]) + "\n"


def _rest(groups: Sequence[Sequence[Site]]) -> str:
    if not groups:
        return ""
    head = "# These look like registrations, too; no shape is known that fits them:"
    return "\n".join([head, *(f"# {_places(group)}" for group in groups)]) + "\n"


def _places(group: Sequence[Site]) -> str:
    first = group[0]
    file = first.file if first.file.isprintable() else "a file"
    return f"{len(group)} × {first.name}, the first in {file}:{first.line}: {first.text[:80]}"


def _list(field: str, items: Sequence[str]) -> str:
    """A field with a list of text, on one line if it fits."""
    whole = f"{field} = [{', '.join(json.dumps(item) for item in items)}]"
    if len(whole) <= 100:
        return whole
    return "\n".join([f"{field} = [", *(f"  {json.dumps(item)}," for item in items), "]"])
