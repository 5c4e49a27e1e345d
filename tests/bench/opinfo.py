"""Compare the test lists as they are read from source with those of the running framework.

    python -m tests.bench.opinfo PACKAGES [--python PYTHON] [--tree TREE]

PACKAGES is a folder with an installed `torch` (site-packages of an environment whose interpreter PYTHON
is); its `torch/testing` is copied to a small tree, read by our parser, and each list of OpInfo, ModuleInfo
and OptimizerInfo entries is compared with what that interpreter reports: names, variants, aliases,
`aten_name`, types on the CPU, the flags that filters ask for, and
which other attributes are None. With --tree the lists are those of a whole
source tree instead. Prints what is missing and what is too much; exits 1 if names, variants or aliases
differ.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from torchtalkd.conventions import load
from torchtalkd.engine import build
from torchtalkd.link.expression_values import UNKNOWN
from torchtalkd.link.test_entries import Entry
from torchtalkd.link.test_lists import selected
from torchtalkd.store.database import open_view
from torchtalkd.store.view import View

REPORT = """
import json, sys
import torch
import torch.testing._internal.common_methods_invocations as c
from torch.testing._internal.common_modules import module_db
from torch.testing._internal.common_optimizers import optim_db

def one(o):
    return dict(name=o.name, variant=o.variant_test_name, aten=o.aten_name, back=o.aten_backward_name or "",
        aliases=sorted(a.name for a in (o.aliases or ())), dtypes=sorted(str(d)[6:] for d in o.dtypes),
        backward=sorted(str(d)[6:] for d in o.supported_backward_dtypes("cpu")),
        flags={k: v for k, v in vars(o).items() if isinstance(v, bool)},
        absent={k: v is None for k, v in vars(o).items() if not isinstance(v, bool)})

lists = {}
for n in dir(c):
    v = getattr(c, n)
    if isinstance(v, (list, tuple)) and v and all(isinstance(o, c.OpInfo) for o in v):
        lists[n] = [one(o) for o in v]
plain = dict(variant="", aten="", back="", aliases=[], backward=[], flags={})
lists["module_db"] = [dict(plain, name=m.name, dtypes=sorted(str(d)[6:] for d in m.dtypes),
    flags=dict(train_and_eval_differ=m.train_and_eval_differ)) for m in module_db]
lists["optim_db"] = [dict(plain, name=m.name, dtypes=[]) for m in optim_db]
json.dump(dict(version=torch.__version__, lists=lists), sys.stdout)
"""
FILES = {
    "module_db": "torch/testing/_internal/common_modules.py",
    "optim_db": "torch/testing/_internal/common_optimizers.py",
}
OTHERS = "torch/testing/_internal/common_methods_invocations.py"


def main() -> int:
    """Prints one line for each list, and each difference."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("packages", type=Path)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--tree", type=Path)
    arguments = parser.parse_args()
    run = subprocess.run([arguments.python, "-c", REPORT], capture_output=True, text=True, check=True)
    report = json.loads(run.stdout)
    with tempfile.TemporaryDirectory() as folder:
        tree = arguments.tree or copied(arguments.packages, Path(folder) / "tree")
        build(tree, Path(folder) / "index", load("pytorch"))
        with open_view(Path(folder) / "index") as view:
            wrong = sum(compared(view, name, entries) for name, entries in report["lists"].items())
    print(f"torch {report['version']}: {wrong} differences in names, variants, aliases")
    return int(wrong > 0)


def copied(packages: Path, tree: Path) -> Path:
    """The part of an installed package that the lists are made of, as a tree."""
    shutil.copytree(packages / "torch" / "testing", tree / "torch" / "testing")
    (tree / "torch" / "__init__.py").write_text("")
    return tree


def compared(view: View, name: str, reported: list[dict[str, Any]]) -> int:
    """How many names with variants are missing or too much, or have other aliases."""
    file = view.file(FILES.get(name, OTHERS))
    if file is None:
        print(f"{name}: its file is not in the tree")
        return len(reported)
    found = selected(view, file, name)
    ours = {} if found.everything else {(e.name, e.variant): e for e in found.entries}
    theirs = {(r["name"], r["variant"]): r for r in reported}
    missing, extra = theirs.keys() - ours.keys(), ours.keys() - theirs.keys()
    both = theirs.keys() & ours.keys()
    other = Counter[str]()
    unknown = Counter[str]()
    samples: dict[str, str] = {}
    for key in both:
        for what, told, known in pairs(ours[key], theirs[key]):
            if known is UNKNOWN or known is None:
                unknown[what] += 1
            elif known != told:
                other[what] += 1
                samples.setdefault(what, f"{'.'.join(filter(None, key))}: {known!r}, in truth {told!r}")
    count = len(ours) if len(ours) == len(found.entries) else f"{len(ours)} of {len(found.entries)}"
    print(
        f"{name}: {count} read, {len(theirs)} reported, certain: {found.certain}; missing {len(missing)},"
        f" too much {len(extra)}, other: {dict(other)}, not known: {dict(unknown)}"
    )
    for label, names in (("missing", missing), ("too much", extra)):
        for one in sorted(names)[:10]:
            print(f"    {label}: {'.'.join(filter(None, one))}")
    for what, sample in samples.items():
        print(f"    {what}: {sample}")
    return len(missing) + len(extra) + sum(other[what] for what in ("aliases", "aten", "back"))


def pairs(entry: Entry, told: dict[str, Any]) -> list[tuple[str, Any, Any]]:
    """What is compared of an entry: what it is, as reported, as read."""
    if entry.of != "operator":
        found = [("flag " + n, v, entry.attribute(n)) for n, v in told["flags"].items()]
        return (
            [("dtypes", told["dtypes"], listed(entry, "dtypes")), *found] if entry.of == "module" else found
        )
    found = [
        ("aliases", told["aliases"], sorted(entry.aliases)),
        ("aten", told["aten"], entry.aten_name),
        ("back", told["back"], entry.aten_backward_name),
        ("dtypes", told["dtypes"], listed(entry, "dtypes")),
    ]
    flags = {n: v for n, v in told["flags"].items() if n not in SKIPPED}
    found += [(f"flag {n}", v, entry.attribute(n)) for n, v in flags.items()]
    for name, absent in told["absent"].items():
        value = entry.attribute(name)
        if name not in SKIPPED and value is not UNKNOWN:
            found.append((f"{name} is None", absent, value is None))
    return found


SKIPPED = ("dynamic_dtypes", "has_no_in_place")
"""Flags that the constructors work out from the running framework."""


def listed(entry: Entry, argument: str) -> list[str] | None:
    """The types of an entry, sorted."""
    found = entry.dtypes(argument)
    return None if found is None else sorted(found)


if __name__ == "__main__":
    sys.exit(main())
