"""The command `status --compile`: how the C++ of a tree can be read exactly, and what is missing for it."""

from __future__ import annotations

import json
import os
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from torchtalkd.bases import base_folders
from torchtalkd.cache import index_folder
from torchtalkd.compilation import made_folder
from torchtalkd.compilation.missing import GENERATED
from torchtalkd.compilation.report import Report, report
from torchtalkd.config import read_config
from torchtalkd.conventions import conventions_of
from torchtalkd.frontends.command.opening import chosen
from torchtalkd.frontends.counted import counted
from torchtalkd.index import kept_index
from torchtalkd.roots import Root
from torchtalkd.store.view import View

_SHOWN = 12
"""Missing headers that the terminal lists."""
_LANGUAGES = {"cpp": "C++", "c": "C", "cuda": "CUDA", "objcpp": "Objective-C++"}


def compile_status(arguments: Namespace) -> int:
    """Says it; 1 where nothing can be read exactly."""
    root = chosen(arguments)
    found = of_root(root)
    if arguments.json:
        print(json.dumps({"root": str(root.path), "harness": root.harness, **as_json(found)}))
    else:
        print(f"{root.path} · {root.harness}")
        print("\n".join(compile_lines(found)))
    return 1 if found.off else 0


def of_root(root: Root) -> Report:
    """The report on a root, with the facts of its index where it has one."""
    config = read_config(os.environ)
    folder = index_folder(root.path, os.environ)
    database = config.compile_commands.get(str(root.path))
    kept = kept_index(root.path, root.harness, folder)
    includes = None
    if kept is not None:
        with kept.view:
            includes = _includes(kept.view)
    return report(
        root.path,
        conventions_of(root.path, root.harness, named=root.named),
        made_folder(folder),
        config.trusted.get(str(root.path), ""),
        database=Path(database) if database else None,
        bases=base_folders(root.path, root.harness, os.environ, config=config),
        includes=includes,
    )


def as_json(found: Report) -> dict[str, object]:
    """As `--json` shows it."""
    whole = asdict(found)
    whole["generated"] = found.generated._asdict()
    whole["cuda"] = found.cuda._asdict()
    whole["packages"] = [one._asdict() for one in found.packages]
    whole["missing"] = None if found.missing is None else [one._asdict() for one in found.missing]
    return whole


def compile_lines(found: Report) -> Iterator[str]:
    """The report for the terminal."""
    if found.off:
        yield f"EXACT READING IS OFF: {found.off}"
    builtin = f"its own headers in {found.builtin}" if found.builtin else "WITHOUT headers of its own"
    yield f"libclang {found.libclang or 'is not installed'}, {builtin}"
    yield f"C++ library: {found.library or 'none'}"
    kinds = ", ".join(f"{count:,} {_LANGUAGES[kind]}" for kind, count in found.units.items())
    variants = ", ".join(f"{count:,} as {name}" for name, count in found.variants.items())
    yield f"units: {kinds or 'none'}{f'; {variants}' if variants else ''}"
    if found.database:
        yield f"commands: from {found.database}; {found.made:,} made from the manifest"
    else:
        yield f"commands: {found.made:,} made from the manifest, no compile_commands.json"
    yield from (f"  {note}" for note in found.notes)
    if found.configured:
        yield f"configured headers: {len(found.configured)} filled in"
    yield from _generated_lines(found)
    cuda = found.cuda
    if cuda.where:
        lacking = f"; without {', '.join(cuda.missing)}" if cuda.missing else ""
        yield f"CUDA: {cuda.version or 'headers'} from {cuda.where}{lacking}"
        if cuda.note:
            yield f"  {cuda.note}"
    elif count := found.left_out.get("cuda"):
        brings = "a CUDA toolkit, or `pip install 'torchtalkd[cuda]'`, brings them"
        yield f"CUDA: no headers, so {counted(count, 'unit')} cannot be read exactly; {brings}"
    if count := found.left_out.get("objcpp"):
        yield f"Objective-C++: {counted(count, 'unit')} can be read exactly on macOS only"
    places = [f"{one.name} ({one.where})" for one in found.packages if one.where]
    if places:
        yield f"headers of others: {', '.join(places)}"
    yield from _missing_lines(found)
    yield f"on the disk: {found.bytes / 1e6:.0f} MB"


def _generated_lines(found: Report) -> Iterator[str]:
    standing = found.generated
    if standing.state == "current":
        yield f"generated headers: {standing.files:,} files, made in {standing.seconds:.0f} s"
    elif standing.state == "outdated":
        yield "generated headers: to be made again, as what they are made from has changed"
    elif standing.sentence:
        wanted = f" (wanted by {counted(found.wanting_generated, 'unit')})" if found.wanting_generated else ""
        yield f"{standing.sentence}{wanted}"


def _missing_lines(found: Report) -> Iterator[str]:
    if found.missing is None:
        yield "missing headers: not known before `torchtalkd index build`"
        return
    others = [one for one in found.missing if one.whose != GENERATED]
    install = {one.name: one.install for one in found.packages if not one.where}
    wanted: dict[str, int] = {}
    for one in others:
        if one.whose in install:
            wanted[one.whose] = max(wanted.get(one.whose, 0), one.units)
    for name, units in sorted(wanted.items(), key=lambda item: -item[1]):
        how = f": {install[name]}" if install[name] else ""
        yield f"missing: {name}, wanted by at most {counted(units, 'unit')}{how}"
    # Of a package that is here, a header that it has not is one of another release, or of another system.
    plain = [one for one in others if one.whose not in install]
    if plain:
        some = ", ".join(f"{one.name} ({one.units:,})" for one in plain[:_SHOWN])
        more = f" and {len(plain) - _SHOWN:,} more (--json)" if len(plain) > _SHOWN else ""
        yield f"in some branch, and nowhere here: {some}{more}"


def _includes(view: View) -> dict[str, list[str]]:
    """The `#include` facts of a tree: path → names as written."""
    return {
        file.path: [reference.fact.name for reference in view.references_of_kind(file, "include")]
        for file in view.files()
    }
