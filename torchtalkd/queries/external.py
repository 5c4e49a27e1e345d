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

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final, Literal, NamedTuple, TypeAlias

from torchtalkd.facts import File, FiledReference, Reference
from torchtalkd.link import operators
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


def joined(counted: Iterable[External], roots: Mapping[str, str]) -> tuple[External, ...]:
    """What was counted, with the root of each framework that is known (`roots`, by its name)."""
    return tuple(replace(one, root=roots.get(one.base, "")) for one in counted)


def edges(view: View) -> tuple[Edge, ...]:
    """All external references, by file and name."""
    known: tuple[Edge, ...] | None = view.kept.get("external")
    if known is None:
        known = view.kept["external"] = tuple(_edges(view))
    return known


def external_items(view: View, text: str) -> Iterator[Item]:
    """The places at which the tree imports or uses a name of a base framework that contains a text."""
    wanted = text.casefold()
    for edge in edges(view):
        if wanted not in edge.name.casefold():
            continue
        more = f", {edge.places} places" if edge.places > 1 else ""
        yield Item(
            role="external",
            symbol=edge.name,
            file=edge.file.path,
            line=edge.line,
            evidence="declared",
            kind=edge.sort,
            note=f"{edge.sort} from {edge.base}{more}",
        )


class Place(NamedTuple):
    """Where a framework's own tree has a name."""

    file: str
    line: int
    operator: str = ""
    """The operator that it is, or that the function there calls, `aten::matmul`; '' for none."""


def place_in(base: View, name: str) -> Place | None:
    """Where a framework's own index has a name, asked for as a user would; None where it has it not.

    A header is the file whose path ends so, an operator is where its schema stands.
    """
    kept: dict[str, Place | None] = base.kept.setdefault("external_places", {})
    if name not in kept:
        kept[name] = _header(base, name) if "/" in name else _named(base, name)
    return kept[name]


def _header(base: View, name: str) -> Place | None:
    paths: list[str] | None = base.kept.get("paths")
    if paths is None:
        paths = base.kept["paths"] = [file.path for file in base.files()]
    found = [path for path in paths if path == name or path.endswith("/" + name)]
    return Place(min(found, key=len), 1) if found else None


def _named(base: View, name: str) -> Place | None:
    found: Place | None = None
    operator = ""
    for subject in locate.locate(base, name).subjects:
        if not subject.answered:
            continue
        place = None
        if subject.kind == "operator":
            family = operators.family(base, subject.name)
            # A Python function may come first; the operator that it calls is known all the same.
            operator = operator or (family.name if family is not None else "")
            entries = family.entries if family is not None else ()
            place = next((e for e in entries if family and family.full_name(e) in subject.overloads), None)
        else:
            place = next((d for n in subject.ids if (d := base.definition(n)) is not None), None)
        if found is None and place is not None:
            found = Place(place.file.path, place.fact.line)
    return found and found._replace(operator=operator)


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
