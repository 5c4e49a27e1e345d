"""What are the conventions of this framework, or of this tree?

A manifest is found by its name among the packaged ones (`manifests/<name>.toml`), or lies at
the root of a tree as `.torchtalk.toml`. What it `extends` is merged below it: tables key by
key, lists one after the other (an item with the text, id, name or pattern of an earlier one
takes that one's place), anything else is replaced. `name`, `detect` and `detect_text` say
what one manifest is and are not inherited. A `[[release]]` is merged above the file it stands
in when the tree's version fits.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import importlib.resources
import json
import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from torchtalkd.conventions.check import RELEASE, build, check, identity, listed, nearest
from torchtalkd.conventions.errors import FieldError, ManifestError
from torchtalkd.conventions.lines import line_of
from torchtalkd.conventions.values import Conventions
from torchtalkd.conventions.versions import version_matches, version_of

TREE_MANIFEST = ".torchtalk.toml"
_MOST_BYTES = 1_000_000
"""A tree is not trusted: its manifest is read only this far."""
NOT_INHERITED = ("format", "name", "extends", "detect", "detect_text", RELEASE)
"""Fields that a child does not take over from what it extends."""

_SIGNS = ("format", "detect", "detect_text")


class Source(NamedTuple):
    """One manifest file as written, checked."""

    name: str
    path: str
    text: str
    raw: dict[str, Any]


def load(name: str, *, tree: Path | None = None) -> Conventions:
    """The conventions of harness `name`, merged with all that it extends. Reads files only.

    A `.torchtalk.toml` at the root of `tree` is used in place of the packaged manifest; `name`
    must then be its name or one that it extends ('' takes whatever it is). With a tree, its
    version decides which `[[release]]` tables apply. Raises ManifestError.
    """
    chain = chain_of(name, tree=tree)
    names = [source.name for source in chain]
    version = version_in(chain, tree)
    merged = _merged(chain, version)
    # What an ancestor depends on may be this one itself: torch-extension's is pytorch.
    merged["depends_on"] = [one for one in merged.get("depends_on", ()) if one != names[0]]
    bases = _bases(merged["depends_on"], names)
    made = build(merged, name=names[0], extends=tuple(names[1:]), version=version, bases=bases)
    return dataclasses.replace(made, fingerprint=_fingerprint(made))


def signs_of(name: str) -> Conventions:
    """The signs of a packaged harness alone: its name, what it extends, and what its trees look like. A
    quarter of the work of `load`. Raises ManifestError."""
    chain = chain_of(name, tree=None)
    own = {field: value for field, value in chain[0].raw.items() if field in _SIGNS}
    return build(own, name=name, extends=tuple(source.name for source in chain[1:]), version="", bases={})


def chain_of(name: str, *, tree: Path | None) -> list[Source]:
    """The files of a harness, its own first, then all that it extends. Raises ManifestError."""
    own = _tree_source(tree, name) if tree else None
    chain = _chain(own or _packaged_source(name))
    names = [source.name for source in chain]
    if own and name and name not in names:
        raise ManifestError(
            own.path,
            line_of(own.text, ("name",)),
            f"this tree is '{own.name}' (extends {', '.join(names[1:]) or 'nothing'}), not '{name}': leave"
            " the harness out, or let this file extend it",
        )
    return chain


def version_in(chain: list[Source], tree: Path | None) -> str:
    """The tree's own version, '' where it has none or there is no tree. Reads files."""
    if tree is None:
        return ""
    fallback = Conventions.__dataclass_fields__["version_files"].default
    return version_of(tree, _merged(chain, "").get("version_files", fallback))


def known() -> list[str]:
    """Names of the packaged manifests, sorted."""
    return sorted(_packaged_texts())


@functools.cache
def _packaged_texts() -> dict[str, tuple[str, str]]:
    """Name → (path, text) of each packaged manifest."""
    try:
        folder: Any = importlib.resources.files("torchtalkd.manifests")
    except ModuleNotFoundError:
        # A source checkout that was not installed has the folder beside the package.
        folder = Path(__file__).resolve().parents[2] / "manifests"
    return {
        entry.name.removesuffix(".toml"): (str(entry), entry.read_text("utf-8"))
        for entry in folder.iterdir()
        if entry.name.endswith(".toml")
    }


def _packaged_source(name: str) -> Source:
    texts = _packaged_texts()
    if name not in texts:
        raise ManifestError(
            "", 0, f"unknown harness '{name}'; {nearest(name, texts)}known harnesses are {', '.join(known())}"
        )
    path, text = texts[name]
    return _source(path, text, name)


def has_own(tree: Path) -> bool:
    """Whether the tree brings something that is named like a manifest, be it usable or not."""
    return os.path.lexists(tree / TREE_MANIFEST)


def _tree_source(tree: Path, name: str) -> Source | None:
    """The manifest of the tree itself, if it has one."""
    path = tree / TREE_MANIFEST
    if not has_own(tree):
        return None
    if path.is_symlink() and not path.resolve().is_relative_to(tree.resolve()):
        raise ManifestError(str(path), 0, "a symbolic link that leads out of the tree; a file is wanted here")
    if path.exists() and not path.is_file():
        # A pipe would be waited for, and what looks like a manifest is not passed over.
        what = "a folder" if path.is_dir() else "a pipe, socket or device"
        raise ManifestError(str(path), 0, f"{what}; a file is wanted here")
    try:
        with path.open("rb") as stream:
            data = stream.read(_MOST_BYTES + 1)
    except OSError as error:
        raise ManifestError(str(path), 0, f"cannot be read: {error.strerror}") from error
    if len(data) > _MOST_BYTES:
        raise ManifestError(str(path), 0, f"larger than {_MOST_BYTES:,} bytes: this is no manifest")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ManifestError(str(path), data.count(b"\n", 0, error.start) + 1, "not UTF-8 text") from error
    return _source(str(path), text.replace("\r\n", "\n"), name or tree.resolve().name or "tree")


@functools.lru_cache(maxsize=32)
def _source(path: str, text: str, default_name: str) -> Source:
    """Parse and check one file. A tree's manifest without a name has that of what it extends first,
    or that of its folder. Remembered, as several harnesses extend the same: nobody changes a Source."""
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"line (\d+)", str(error))
        line = int(found.group(1)) if found else text.count("\n", 0, len(text.rstrip())) + 1
        raise ManifestError(path, line, f"not valid TOML: {error}") from error
    except RecursionError as error:
        raise ManifestError(path, 0, "nested too deeply") from error
    try:
        check(raw, of_a_tree=path.endswith(TREE_MANIFEST))
    except FieldError as fault:
        raise ManifestError(path, line_of(text, fault.path), fault.message) from fault
    name = raw.get("name") or next(iter(listed(raw.get("extends"))), default_name)
    return Source(name if path.endswith(TREE_MANIFEST) else default_name, path, text, raw)


def _chain(source: Source) -> list[Source]:
    """The manifest and its ancestors, each once: nearest first, so merged from the end."""
    chain: list[Source] = []

    def visit(current: Source, above: tuple[str, ...]) -> None:
        _check_depends_on(current)
        for position, parent in enumerate(listed(current.raw.get("extends"))):
            if parent in above:
                place = line_of(current.text, ("extends", position))
                cycle = " → ".join((*above[above.index(parent) :], parent))
                raise ManifestError(current.path, place, f"'extends' goes round in a circle: {cycle}")
            if parent not in _packaged_texts():
                place = line_of(current.text, ("extends", position))
                near = nearest(parent, known())
                message = f"extends unknown manifest '{parent}'; {near}known: {', '.join(known())}"
                raise ManifestError(current.path, place, message)
            visit(_packaged_source(parent), (*above, parent))
        if current not in chain:
            chain.append(current)

    # A tree's manifest may carry the name of the packaged one it extends: that is no cycle.
    visit(source, () if source.path.endswith(TREE_MANIFEST) else (source.name,))
    return chain[::-1]


def _bases(depends_on: list[str], own: list[str]) -> dict[str, dict[str, tuple[str, ...]]]:
    """What each framework that a tree depends on provides, by its packaged manifest. A name that is
    no packaged manifest provides nothing that is known; a framework does not depend on itself."""
    found: dict[str, dict[str, tuple[str, ...]]] = {}
    for name in depends_on:
        if name in _packaged_texts() and name not in own:
            provides = _merged(_chain(_packaged_source(name)), "").get("provides", {})
            found[name] = {kind: tuple(names) for kind, names in provides.items()}
    return found


def _check_depends_on(source: Source) -> None:
    for position, name in enumerate(source.raw.get("depends_on", ())):
        if name in _packaged_texts() and name != source.raw.get("name"):
            continue
        place = line_of(source.text, ("depends_on", position))
        if name not in _packaged_texts():
            message = (
                f"depends_on unknown harness '{name}'; {nearest(name, known())}known: {', '.join(known())}"
            )
            raise ManifestError(source.path, place, message)
        raise ManifestError(source.path, place, f"'{name}' cannot depend on itself")


def _merged(chain: list[Source], version: str) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for source in reversed(chain):
        is_last = source is chain[0]
        result = _merge(
            result, {key: value for key, value in source.raw.items() if is_last or key not in NOT_INHERITED}
        )
        for release in source.raw.get(RELEASE, ()):
            if version_matches(release["versions"], version):
                result = _merge(result, {key: value for key, value in release.items() if key != "versions"})
    result.pop(RELEASE, None)
    return result


def _merge(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """`above` laid over `below`, as the head of this module says."""
    result = dict(below)
    for key, value in above.items():
        old = result.get(key)
        if isinstance(old, dict) and isinstance(value, dict):
            result[key] = _merge(old, value)
        elif isinstance(old, list) and isinstance(value, list):
            items = {identity(item): item for item in old}
            items.update((identity(item), item) for item in value)
            result[key] = list(items.values())
        else:
            result[key] = value
    return result


def _fingerprint(conventions: Conventions) -> str:
    # The version reaches the facts only through the fields that a release changes, and how a file is
    # compiled is no part of what it says.
    fields = dataclasses.asdict(conventions)
    del fields["compilation"], fields["fingerprint"], fields["rules"]["version"], fields["rules"]["bases"]
    canonical = json.dumps(fields, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.blake2b(canonical.encode(), digest_size=16).hexdigest()
