"""The source trees: those that are remembered, and the one that is meant here."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from torchtalkd.cache import index_folder, kept_indexes
from torchtalkd.config import Config, ConfigError, config_path, read_config
from torchtalkd.conventions import ManifestError
from torchtalkd.doctor.values import FIX, NOTE, OK, Finding, Place
from torchtalkd.index import kept_or_why
from torchtalkd.roots import NoHarness, Root, RootError, choose_root, root_at


def trees(place: Place) -> Iterator[Finding]:
    """The configuration, then each tree: is it there, what is it read as, is its index whole?"""
    try:
        config = read_config(place.environ)
    except ConfigError as error:
        yield Finding("configuration", FIX, str(error), f"edit {config_path(place.environ)}")
        return
    yield Finding("configuration", OK, f"{config_path(place.environ)}{_default(config)}")
    seen: set[Path] = set()
    here = _meant(place, config)
    if isinstance(here, Root):
        seen.add(here.path)
        yield from _tree(here, place)
    elif here is not None:
        yield here
    for path in dict.fromkeys([*config.sources, *([config.default] if config.default else [])]):
        if Path(path) in seen:
            continue
        seen.add(Path(path))
        try:
            root = root_at(path, None, "the configuration", cwd=place.cwd, config=config)
        except (RootError, ManifestError) as error:
            yield Finding("tree", FIX, str(error), f"torchtalkd forget {path}")
        else:
            yield from _tree(root, place)
    for kept in kept_indexes(place.environ):
        if kept.root and not Path(kept.root).is_dir():
            said = f"an index of {kept.root}, which does not exist, takes {kept.bytes >> 20} MB"
            yield Finding("tree", NOTE, said, f"torchtalkd forget {kept.root}")


def _default(config: Config) -> str:
    return f", default {config.default}" if config.default else ", no default tree"


def _meant(place: Place, config: Config) -> Root | Finding | None:
    """The tree that a question here would be about; None where there is none and others are remembered."""
    try:
        return choose_root(place.source, place.harness, environ=place.environ, cwd=place.cwd, config=config)
    except NoHarness as error:
        return Finding("tree", FIX, str(error), "torchtalkd harness new NAME")
    except (RootError, ManifestError) as error:
        named = place.source or any(place.environ.get(n) for n in ("TORCHTALK_SOURCE", "PYTORCH_SOURCE"))
        if named or not (config.sources or config.default):
            return Finding("tree", FIX, str(error), "torchtalkd init --source PATH --set-default")
        return None


def _tree(root: Root, place: Place) -> Iterator[Finding]:
    said = f"{root.path} ({root.harness})"
    index = kept_or_why(root.path, root.harness, index_folder(root.path, place.environ))
    build = f"torchtalkd index build --source {root.path}"
    if isinstance(index, str):
        if "is not indexed" in index:
            yield Finding("tree", NOTE, f"{said} is not indexed: the first question reads it", build)
        else:
            yield Finding("tree", FIX, f"{said}: {index}", f"torchtalkd forget {root.path}; {build}")
        return
    with index.view:
        counts = index.view.counts()
        revision = index.view.revision
        complete = index.view.meta("complete") in ("1", "true", "yes")
    what = f"{said}: revision {revision}, {counts.get('files', 0)} files"
    if index.waiting:
        what += f", {index.waiting} to be read again by the next question"
    if not complete:
        why = f"{what}; not all files could be read: `torchtalkd status --source {root.path}` lists them"
        yield Finding("tree", FIX, why, f"make them readable, then {build}")
    else:
        yield Finding("tree", OK, what)
