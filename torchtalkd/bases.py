"""Which root is the framework that a tree depends on?

A harness names the frameworks it `depends_on`, never where they lie. A root is of a framework when its
harness has that name or extends one that has. Among those that the user's configuration remembers, that
are indexed, or that are open in the daemon: the configured default, else the only one, else the one
used last. The tests are in `tests/test_bases.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from torchtalkd.cache import index_folder, indexed_roots
from torchtalkd.config import Config, read_config
from torchtalkd.conventions import ManifestError, conventions_of, detect, has_own, load
from torchtalkd.roots import RootError, root_at
from torchtalkd.store.database import last_written

MOST_OTHERS: Final = 7
"""Roots that one question looks into beside its own: the daemon keeps eight trees open."""


class Known(NamedTuple):
    """A root that may be looked into."""

    path: Path
    harness: str
    harnesses: tuple[str, ...]
    """Its own and all that it extends."""
    depends_on: tuple[str, ...]
    folder: Path
    """Of its index."""
    named: bool
    """Whether somebody named the harness."""
    indexed: bool
    default: bool
    used: float
    """When it was used last, in seconds since the epoch: asked about, or else its index written."""


def known_roots(
    environ: Mapping[str, str],
    used: Mapping[str, float] | None = None,
    *,
    config: Config | None = None,
    harnesses: Mapping[str, str] | None = None,
) -> list[Known]:
    """The roots that are remembered, indexed, or given in `used` (path → when it was asked about), and
    that exist; by path. Reads the configuration and the cache. Raises ConfigError.

    `harnesses` says with which harness an open root is served.
    """
    config = read_config(environ) if config is None else config
    indexed = indexed_roots(environ)
    open_now = used or {}
    paths = {*config.sources, *indexed, *open_now, *([config.default] if config.default else [])}
    found = []
    for path in sorted(paths):
        harness = (harnesses or {}).get(path) or config.sources.get(path) or indexed.get(path, "")
        root = known_root(Path(path), harness, environ, config=config)
        if root is not None:
            at = open_now.get(path, last_written(root.folder))
            found.append(root._replace(used=at, indexed=path in indexed))
    return found


def known_root(path: Path, harness: str, environ: Mapping[str, str], *, config: Config) -> Known | None:
    """One root, by its path; None where it is no tree of a known framework. `harness` may be '': then
    it is the one that fits."""
    folder = index_folder(path, environ)
    try:
        if not path.is_dir():
            return None
        harness = harness or next(iter(detect(path)), "")
        if not harness:
            return None
        if has_own(path):
            made = conventions_of(path, harness, named=False)
            names, depends_on = (made.name, *made.extends), made.depends_on
        else:
            names, depends_on = _packaged(harness)
    except (ManifestError, OSError):
        # What is wrong with it is said to who asks about that tree itself.
        return None
    named = bool(config.sources.get(str(path))) and not has_own(path)
    return Known(
        path,
        names[0],
        names,
        depends_on,
        folder,
        named,
        False,
        config.default == str(path),
        0.0,
    )


def given_base(path: str | None, *, cwd: Path, environ: Mapping[str, str], config: Config) -> Known | None:
    """The base that somebody names by its path, None where nobody does. Raises RootError, ManifestError."""
    if path is None:
        return None
    root = root_at(path, None, "--base", cwd=cwd, config=config)
    known = known_root(root.path, root.harness, environ, config=config)
    return known and known._replace(indexed=last_written(known.folder) > 0.0)


@cache
def _packaged(harness: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names and `depends_on` of a packaged harness: always the same."""
    made = load(harness)
    return (made.name, *made.extends), made.depends_on


def base_of(name: str, roots: Iterable[Known], *, asked: Path) -> Known | None:
    """The root that is the framework `name` for the asked one; None where none is known."""
    fitting = [root for root in roots if name in root.harnesses and root.path != asked]
    return max(fitting, key=lambda root: (root.default, root.used, str(root.path)), default=None)


def bases_of(asked: Known, roots: Iterable[Known]) -> dict[str, str]:
    """The root of each framework that a tree depends on, where one is known."""
    known = list(roots)
    found = {name: base_of(name, known, asked=asked.path) for name in asked.depends_on}
    return {name: str(root.path) for name, root in found.items() if root is not None}


def base_folders(path: Path, harness: str, environ: Mapping[str, str], *, config: Config) -> list[str]:
    """The folders with headers of the frameworks that a tree depends on, where their own trees are known:
    those that are written, and those that were made for them (`header_folders`). Raises ManifestError,
    OSError."""
    # Here, as most questions about bases need nothing of it.
    from torchtalkd.compilation.commands import header_folders
    from torchtalkd.compilation.values import made_folder

    asked = known_root(path, harness, environ, config=config)
    if asked is None or not asked.depends_on:
        return []
    known = {str(one.path): one for one in known_roots(environ, config=config)}
    found: list[str] = []
    for place in bases_of(asked, known.values()).values():
        base = known[place]
        told = conventions_of(base.path, base.harness, named=base.named)
        found += header_folders(base.path, told, made_folder(base.folder))
    return found


class Choice(NamedTuple):
    """A root that a question looks into."""

    root: Known
    base: str
    """Which framework of the asked root's `depends_on` it is; '' for none."""


def choose(
    asked: Known,
    roots: Iterable[Known],
    *,
    wants: Iterable[str] | None = None,
    given: Known | None = None,
) -> list[Choice]:
    """The other roots of a question about `asked`: its bases `wants`; without these (None) all that are
    related to it: its bases, what depends on the same, and what depends on it. Pure.

    `given` is a base that somebody named. Raises RootError where it is none.
    """
    known = [root for root in roots if root.path != asked.path]
    if given is not None:
        if given.path == asked.path or not set(given.harnesses) & set(asked.depends_on):
            depends = ", ".join(asked.depends_on) or "no other framework"
            raise RootError(
                f"--base names {given.path}, a tree of {given.harness}; {asked.path} depends on {depends}"
            )
        known = [given, *(root for root in known if root.path != given.path)]
    chosen: dict[Path, Choice] = {}
    for name in asked.depends_on if wants is None else wants:
        is_given = given is not None and name in given.harnesses
        base = given if is_given else base_of(name, known, asked=asked.path)
        if base is not None:
            chosen.setdefault(base.path, Choice(base, name))
    if wants is None:
        names = {*asked.harnesses, *asked.depends_on}
        for root in sorted(known, key=lambda root: -root.used):
            if names.intersection(root.depends_on):
                chosen.setdefault(root.path, Choice(root, ""))
    return list(chosen.values())[:MOST_OTHERS]
