"""What an extension registers, against an independent count, and which of it leads to no kernel.

    python -m tests.bench.extensions TREES [--only vllm] [--all]

For each tree below TREES (vllm, vision, …): how many definitions and registrations a plain scan of
its text finds (`registrations.py`, which shares nothing with the product's parsers), how many of
these the index has, what the index has besides, and each one that no trace leads from to a function's
body, with the reason. With --all the reasons are listed one by one.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from tests.bench.registrations import Site, registrations
from torchtalkd import keys
from torchtalkd.conventions import detect, load
from torchtalkd.engine import build
from torchtalkd.facts import FiledDefinition
from torchtalkd.link import library_blocks, targets
from torchtalkd.queries import trace_bindings
from torchtalkd.queries.trace import trace
from torchtalkd.store.database import open_view
from torchtalkd.store.view import View

TREES = (
    "vllm", "vision", "flash_attn", "causal_conv1d", "mamba_ssm", "torch_scatter", "torch_sparse",
    "torch_cluster", "xformers", "deepspeed",
)  # fmt: skip
Named = tuple[str, str, str]
"""File, form and name of a site."""


class Compared(NamedTuple):
    """The two counts of one tree."""

    sites: list[Site]
    missing: list[Named]
    extra: list[Named]


def compared(view: View, root: Path) -> Compared:
    """The scan against the index."""
    sites = registrations(root, [file.path for file in view.files()])
    wanted = Counter(_of_site(site) for site in sites)
    have = Counter(_of_definition(definition) for definition in registered(view))
    return Compared(sites, sorted((wanted - have).elements()), sorted((have - wanted).elements()))


def registered(view: View) -> list[FiledDefinition]:
    """What the index has of the same sort: written out in C++, not made by a macro."""
    return [
        definition
        for kind in ("schema", "registration", "python_binding")
        for definition in view.definitions_of_kind(kind)
        if definition.file.language in ("cpp", "cuda", "objcpp")
        and definition.fact.convention in ("torch_library", "register_operators", "pybind11", "torch_class")
        and not (definition.fact.detail or {}).get("macro")
        and not (definition.fact.convention == "pybind11" and (definition.fact.detail or {}).get("class"))
        and (definition.fact.detail or {}).get("form") != "def_pickle"
    ]


def _of_site(site: Site) -> Named:
    name = site.name.rpartition("::")[2] if site.form in ("def", "impl", "op") else site.name
    return site.file, site.form, name


def _of_definition(definition: FiledDefinition) -> Named:
    fact = definition.fact
    if fact.kind == "python_binding":
        form = "class" if fact.convention == "torch_class" else "pybind"
        return definition.file.path, form, fact.name.rpartition(".")[2]
    name = keys.operator_name(fact.name)
    form = "op" if fact.convention == "register_operators" else "def" if fact.kind == "schema" else "impl"
    if name.base == "*":
        form = "fallback"
    return definition.file.path, form, str(name._replace(namespace=""))


class Untraced(NamedTuple):
    """A registration that leads to no body."""

    name: str
    place: str
    reason: str


def untraced(view: View) -> tuple[int, list[Untraced]]:
    """How many registrations name a kernel at all, and those of them that lead to none."""
    asked, found = 0, []
    for definition in registered(view):
        fact, detail = definition.fact, definition.fact.detail or {}
        named = view.targets(definition)
        if not named and not detail.get("lambda"):
            continue  # A schema alone, a fallthrough: there is no kernel to find.
        asked += 1
        place = f"{definition.file.path}:{fact.line}"
        if detail.get("lambda"):
            continue  # The body stands at the place itself.
        if _answered(view, definition, place):
            continue
        found.append(Untraced(fact.name, place, _reason(view, definition, named[0].fact.name)))
    return asked, found


def _answered(view: View, definition: FiledDefinition, place: str) -> bool:
    """Whether a trace of the registered name, as a user would ask, has a body that this site declares."""
    name = targets.filled(view, definition)[0].fact.name
    items = trace(view, name).items
    links = [
        link
        for target in view.targets(definition)
        for link in library_blocks.target_functions(view, target.fact.name, definition)
    ]
    places = {(link.definition.file.path, link.definition.fact.line) for link in links}
    if any((item.file, item.line) in places for item in items):
        return True
    return any(
        item.role in ("native", "autocast", "batching_rule", "structured_impl")
        and item.kind in ("function", "kernel", "class")
        and f"{item.declared_file}:{item.declared_line}" == place
        for item in items
    )


def _reason(view: View, definition: FiledDefinition, written: str) -> str:
    known = view.definitions(keys.cpp(written))
    bodies = [d for d in known if not d.fact.declares and d.fact.kind in ("function", "kernel")]
    if "::" not in written:
        bodies = [d for d in bodies if not _is_method(view, d)]
    if not targets.is_built(view, definition.file):
        return f"its file is a {definition.file.role}"
    if targets.is_hole(targets.filled(view, definition)[0].fact.name):
        return "no build file says which module it belongs to"
    if (definition.fact.detail or {}).get("form") == "value":
        return "an enumerator, which is no function"
    if not bodies and any(d.fact.declares for d in known):
        return f"{written} is declared, and its body is not in the tree"
    if not bodies:
        return f"{written} is not in the tree"
    links = library_blocks.target_functions(view, written, definition)
    if not links and not trace_bindings.implementations(view, definition):
        return f"{written} is defined, but not where look-up finds it: {bodies[0].fact.name}"
    return "its kernel is found, but not in the answer"


def _is_method(view: View, definition: FiledDefinition) -> bool:
    cls = definition.fact.name.rpartition("::")[0]
    return bool(cls) and any(d.fact.kind == "class" for d in view.named(keys.cpp(cls), cls))


def report(root: Path, folder: Path, everything: bool) -> None:
    """Print one tree's figures."""
    names = detect(root)
    began = time.monotonic()
    build(root, folder, load(names[0] if names else "torch-extension", tree=root))
    seconds = time.monotonic() - began
    with open_view(folder) as view:
        found = compared(view, root)
        asked, without = untraced(view)
    forms = ", ".join(
        f"{count} {form}" for form, count in sorted(Counter(s.form for s in found.sites).items())
    )
    print(f"{root.name}: {len(found.sites)} in the text ({forms}), {len(found.missing)} not in the index, "
          f"{len(found.extra)} in the index alone; {asked - len(without)} of {asked} lead to a body; "
          f"built in {seconds:.1f} s")  # fmt: skip
    for file, form, name in found.missing:
        print(f"  missing: {form} {name} in {file}")
    for file, form, name in found.extra:
        print(f"  not in the text: {form} {name} in {file}")
    if everything:
        for one in without:
            print(f"  no body: {one.name} at {one.place}: {one.reason}")
    else:
        for reason, count in Counter(one.reason for one in without).most_common(12):
            print(f"  no body: {count} x {reason}")


def main() -> None:
    """Print the figures of all trees that are there."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("trees", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--index", type=Path, help="a folder for the indexes, which are kept")
    options = parser.parse_args()
    for name in TREES:
        if (options.trees / name).is_dir() and options.only in ("", name):
            folder = options.index / name if options.index else Path(tempfile.mkdtemp())
            folder.mkdir(parents=True, exist_ok=True)
            report(options.trees / name, folder, options.all)


if __name__ == "__main__":
    main()
