"""Manifests (TOML) → frozen typed values: how a framework spells its bindings, as data.

`load` reads a manifest, `detect` says which one fits a tree, `conventions_of` reads that, `known`
lists them, `has_own` asks for a tree's own; a wrong manifest is a `ManifestError`. `files` says how
a path is read, `origins` where a value comes from. `docs/manifests.md` describes the fields;
the tests are in `tests/test_conventions.py`.
"""

from torchtalkd.conventions.detect import conventions_of, detect
from torchtalkd.conventions.errors import ManifestError
from torchtalkd.conventions.load import TREE_MANIFEST, has_own, known, load
from torchtalkd.conventions.tables import python_name_of
from torchtalkd.conventions.values import Conventions

__all__ = [
    "TREE_MANIFEST",
    "Conventions",
    "ManifestError",
    "conventions_of",
    "detect",
    "has_own",
    "known",
    "load",
    "python_name_of",
]
