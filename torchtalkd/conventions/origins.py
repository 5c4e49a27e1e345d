"""Where does each value of a harness come from, after all that it extends is merged?

The values are those of `load`: the same files, laid over one another in the same order. The
tests are in `tests/test_harness.py`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from torchtalkd.conventions.check import RELEASE, identity
from torchtalkd.conventions.lines import FieldPath, line_of
from torchtalkd.conventions.load import NOT_INHERITED, Source, chain_of, version_in
from torchtalkd.conventions.versions import version_matches


class Setting(NamedTuple):
    """One value: a plain field's, or one item of a list or table."""

    field: str
    """`files.max_bytes`; for an item of a list the list's: `cpp.shapes`; for one of a table with its
    key: `files.languages..cu`."""
    value: Any
    """As TOML gives it."""
    file: str
    """The manifest that it stands in."""
    line: int
    """1-based."""


def origins(name: str, *, tree: Path | None = None) -> list[Setting]:
    """The effective values of harness `name` with their places, in the order of the fields' first
    appearance. `name` and `tree` are as for `load`. Raises ManifestError."""
    chain = chain_of(name, tree=tree)
    version = version_in(chain, tree)
    found: dict[tuple[object, ...], Setting] = {}
    for source in reversed(chain):
        own = {
            key: value
            for key, value in source.raw.items()
            if key != RELEASE and (source is chain[0] or key not in NOT_INHERITED)
        }
        _lay(found, source, own, ())
        for index, release in enumerate(source.raw.get(RELEASE, ())):
            if version_matches(release["versions"], version):
                fields = {key: value for key, value in release.items() if key != "versions"}
                _lay(found, source, fields, (RELEASE, index))
    found.pop(("depends_on", chain[0].name), None)
    first = {setting.field: n for n, setting in reversed(list(enumerate(found.values())))}

    def place(setting: Setting) -> tuple[int, int]:
        table = setting.field.partition(".")[0]
        return (_TABLES.index(table) if table in _TABLES else -1, first[setting.field])

    return sorted(found.values(), key=place)


_TABLES = ("files", "cpp", "python", "operators", "compilation", "link", "expected_minimums")
"""Shown after the plain fields, as TOML wants them written."""


def _lay(
    found: dict[tuple[object, ...], Setting], source: Source, value: Any, at: FieldPath, inside: bool = False
) -> None:
    """Puts the values below `at` over those that are there."""
    if isinstance(value, dict) and not inside:
        for key, inner in value.items():
            _lay(found, source, inner, (*at, key))
        return
    if isinstance(value, list):
        for index, item in enumerate(value):
            _lay(found, source, item, (*at, index), inside=True)
        return
    named = at[2:] if at[0] == RELEASE else at
    # An item of a list takes the place of an earlier one that is the same.
    key = (*named[:-1], identity(value)) if inside else named
    field = ".".join(str(part) for part in (named[:-1] if inside else named))
    found[key] = Setting(field, value, source.path, line_of(source.text, at))
