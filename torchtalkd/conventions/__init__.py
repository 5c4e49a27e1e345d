"""Manifests (TOML) → frozen typed values: how a framework spells its bindings, as data.

`load` reads a manifest, `detect` says which one fits a tree, `known` lists them; a wrong
manifest is a `ManifestError`. `files` says how a path is read. `docs/manifests.md` describes
the fields; the tests are in `tests/test_conventions.py`.
"""

from torchtalkd.conventions.detect import detect
from torchtalkd.conventions.errors import ManifestError
from torchtalkd.conventions.load import TREE_MANIFEST, known, load
from torchtalkd.conventions.tables import python_name_of
from torchtalkd.conventions.values import Conventions

__all__ = ["TREE_MANIFEST", "Conventions", "ManifestError", "detect", "known", "load", "python_name_of"]
