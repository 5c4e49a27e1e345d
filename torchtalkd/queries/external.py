"""external: what a tree takes from the frameworks that it depends on, counted and listed.

An external reference is a Reference of the tree whose name belongs to a base framework by what that
provides (`rules.bases`). Three sorts of edges, each counted once a file and name:

- an import: the Python file imports that dotted name, anywhere in it: `import torch` is torch,
  `from torch import nn` is torch.nn, `from torch.nn import *` is torch.nn;
- an include: the C++ file includes that header;
- a use: the file calls, launches, derives from or names as a value that full name, imports followed.

All files count but templates; those of tests are counted apart too. The tests are
`tests/test_external.py`; `tests/bench/external.py` counts the same with Python's own parser.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final, Literal, NamedTuple, TypeAlias

from torchtalkd.facts import File, FiledReference, Reference
from torchtalkd.queries import locate
from torchtalkd.queries.answers import External, Item
from torchtalkd.store.view import View

Sort: TypeAlias = Literal["import", "include", "use"]
_SORTS: Final[dict[str, Sort]] = {
    "import": "import",
    "star": "import",
    "target": "import",
    "include": "include",
}
"""By the reference's kind; others are uses. A target is that of `from x import y` at module level:
an alias, which others can import from here."""


class Edge(NamedTuple):
    """That a file imports or uses a name of a base framework."""

    base: str
    """The framework: pytorch."""
    sort: Sort
    file: File
    name: str
    """As the file means it: torch.nn.functional.linear, at::empty, ATen/ATen.h."""
    line: int
    """Of the first place, 1-based."""
    places: int
    """How many places of the file have it."""


def external(view: View) -> list[External]:
    """The external references of the tree, by framework. Read-only; reads all references once a
    revision. Empty where the tree depends on no other."""
    found = []
    for base in view.rules.bases:
        mine = [edge for edge in edges(view) if edge.base == base]
        imports = [edge for edge in mine if edge.sort == "import"]
        library = [edge for edge in imports if edge.file.role != "test"]
        uses = [edge for edge in mine if edge.sort == "use"]
        found.append(
            External(
                base,
                imports=len(imports),
                importing=len({edge.file.id for edge in imports}),
                library_imports=len(library),
                library_importing=len({edge.file.id for edge in library}),
                includes=sum(edge.sort == "include" for edge in mine),
                uses=len(uses),
                using=len({edge.file.id for edge in uses}),
            )
        )
    return found


def edges(view: View) -> tuple[Edge, ...]:
    """All external references, by file and name."""
    known: tuple[Edge, ...] | None = view.kept.get("external")
    if known is None:
        known = view.kept["external"] = tuple(_edges(view))
    return known


def external_items(view: View, text: str, bases: Mapping[str, View] | None = None) -> Iterator[Item]:
    """The places at which the tree imports or uses a name of a base framework that contains a text.
    With a view of the framework's own index (`bases`, by its name) each name is joined to its place
    there: `declared_file` and `declared_line` are that tree's."""
    wanted = text.casefold()
    places: dict[tuple[str, str], tuple[str, int]] = {}
    for edge in edges(view):
        if wanted not in edge.name.casefold():
            continue
        more = f", {edge.places} places" if edge.places > 1 else ""
        item = Item(
            role="external",
            symbol=edge.name,
            file=edge.file.path,
            line=edge.line,
            evidence="declared",
            kind=edge.sort,
            note=f"{edge.sort} from {edge.base}{more}",
        )
        base = (bases or {}).get(edge.base)
        if base is not None:
            if (edge.base, edge.name) not in places:
                places[edge.base, edge.name] = place_in(base, edge.name)
            file, line = places[edge.base, edge.name]
            item = replace(item, declared_file=file, declared_line=line)
        yield item


def place_in(base: View, name: str) -> tuple[str, int]:
    """Where a framework's own index has a name: file and line; ('', 0) where it has it not."""
    if "/" in name:
        files = [file for file in base.files() if file.path == name or file.path.endswith("/" + name)]
        return (min(files, key=lambda file: len(file.path)).path, 1) if files else ("", 0)
    for subject in locate.locate(base, name).subjects:
        for number in subject.ids:
            definition = base.definition(number)
            if definition is not None:
                return definition.file.path, definition.fact.line
    return "", 0


def _edges(view: View) -> Iterator[Edge]:
    packed: dict[tuple[str, Sort, int, str], list[FiledReference]] = {}
    for base, provides in view.rules.bases.items():
        begins = [f"{root}." for root in provides.get("python", ())]
        begins += [f"{namespace}::" for namespace in provides.get("namespaces", ())]
        begins += provides.get("includes", ())
        for reference in view.named_like(provides.get("python", ()), begins):
            if reference.file.role == "template" or not _belongs(reference.fact, reference.file, provides):
                continue
            sort = _SORTS.get(reference.fact.kind, "use")
            packed.setdefault((base, sort, reference.file.id, reference.fact.name), []).append(reference)
    for (base, sort, _, name), found in packed.items():
        first = min(found, key=lambda r: r.fact.line)
        yield Edge(base, sort, first.file, name, first.fact.line, len(found))


def _belongs(fact: Reference, file: File, provides: Mapping[str, tuple[str, ...]]) -> bool:
    """Whether a name is one of its language: `torch/x.h` is a header, `torch.x` a module."""
    if fact.kind == "include":
        return fact.name.startswith(provides.get("includes", ()))
    if file.language == "python":
        return fact.name.partition(".")[0] in provides.get("python", ())
    return fact.name.partition("::")[0] in provides.get("namespaces", ()) and "::" in fact.name
