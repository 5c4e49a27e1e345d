"""The command `harness verify`: what is expected of a tree against its index."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Callable, Iterator
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import Any

from torchtalkd.conventions import conventions_of
from torchtalkd.conventions.versions import version_matches
from torchtalkd.frontends.command.opening import asked, chosen
from torchtalkd.harness.anchors import FOLDER, anchors_for, read_anchors
from torchtalkd.harness.proposals import minimums, proposal
from torchtalkd.harness.survey import registration_sites
from torchtalkd.harness.values import Anchors
from torchtalkd.queries.verify import AnchorCheck, Minimum, Verification
from torchtalkd.queries.verify import verify as verifying
from torchtalkd.roots import Root

_GROUPS = 20
"""Spellings that are shown without --all."""
_PLACES = 3


def verify(arguments: Namespace) -> int:
    """Checks minimums and anchors; 1 with what fell short. Lists what looks like an unread registration."""
    root = chosen(arguments)
    conventions = conventions_of(root.path, root.harness, named=root.named)
    # Read before the index: a mistake in the anchors should not wait for that.
    if arguments.anchors:
        anchors: Anchors | None = read_anchors(Path(arguments.anchors).expanduser())
    else:
        anchors = anchors_for(conventions.name, root.path)
    sites = registration_sites(root.path, conventions)
    done = asked(
        root,
        lambda index: verifying(
            index.view,
            conventions.expected_minimums,
            anchors.anchors if anchors else (),
            sites,
            _lines(root.path),
        ),
    )
    version = conventions.rules.version
    if arguments.json:
        print(json.dumps(_as_json(done, root, conventions.name, version, anchors)))
    else:
        text = _told(done, root, conventions.name, version, anchors, whole=arguments.all)
        print("\n".join(text))
    return 1 if done.short else 0


def _lines(root: Path) -> Callable[[str, int], str]:
    """The text of a line of the tree, by file and number."""

    @lru_cache(maxsize=64)
    def lines(file: str) -> list[str]:
        try:
            return (root / file).read_bytes().decode("utf-8", "replace").split("\n")
        except OSError:
            return []  # It went since the index was made: no line of it says anything.

    def line_at(file: str, line: int) -> str:
        found = lines(file)
        return found[line - 1] if 0 < line <= len(found) else ""

    return line_at


def _as_json(
    done: Verification, root: Root, harness: str, version: str, anchors: Anchors | None
) -> dict[str, Any]:
    return {
        "root": str(root.path),
        "harness": harness,
        "version": version,
        "revision": done.standing.revision,
        "commit": done.standing.commit,
        "complete": done.standing.complete,
        "short": done.short,
        "counts": dict(done.counts),
        "minimums": [{**asdict(one), "holds": one.holds} for one in done.minimums],
        "anchors_file": anchors.path if anchors else "",
        "anchors_version": anchors.version if anchors else "",
        "anchors": [
            {**one.anchor._asdict(), "found_line": one.line, "holds": one.holds, "why": one.why}
            for one in done.anchors
        ],
        "unmatched": [
            {
                "form": group[0].form,
                "name": group[0].name,
                "count": len(group),
                "places": [{"file": site.file, "line": site.line, "text": site.text} for site in group],
                "proposal": proposal(group),
            }
            for group in done.unmatched
        ],
    }


def _told(
    done: Verification, root: Root, harness: str, version: str, anchors: Anchors | None, *, whole: bool
) -> Iterator[str]:
    release = f" {version}" if version else ""
    yield f"{root.path} · {harness}{release} · revision {done.standing.revision}"
    if not done.standing.complete:
        yield "not all of the tree could be read: `torchtalkd status` says what"
    yield ""
    yield from _minimum_lines(done)
    yield ""
    yield from _anchor_lines(done, anchors, harness, version)
    yield ""
    yield from _unmatched_lines(done, whole)
    checks = len(done.minimums) + len(done.anchors)
    if not checks:
        yield "nothing was checked: there are neither minimums nor anchors"
    else:
        yield f"{done.short} of {checks} fell short" if done.short else f"all {checks} checks hold"


def _minimum_lines(done: Verification) -> Iterator[str]:
    if done.minimums:
        yield "expected minimums"
        yield from (_minimum(one) for one in done.minimums)
    elif text := minimums(done.counts):
        yield "expected minimums: none; nine tenths of what is there now would be"
        yield from (f"    {line}" for line in text.rstrip("\n").split("\n"))
    else:
        yield "expected minimums: none, and the index has nothing that binds a name"


def _minimum(one: Minimum) -> str:
    return f"  {'ok   ' if one.holds else 'SHORT'} {one.kind:<24} {one.found:>8}, at least {one.expected}"


def _anchor_lines(done: Verification, anchors: Anchors | None, harness: str, version: str) -> Iterator[str]:
    if anchors is None:
        yield f"anchors: none; {FOLDER}/{harness}.yml in the tree or --anchors FILE can bring them"
        return
    yield f"anchors of {anchors.path}"
    if anchors.version and version and not version_matches(f"=={anchors.version}", version):
        yield (
            f"  (written from {anchors.version}, and this is {version}:"
            " what fails may have moved between them)"
        )
    for check in done.anchors:
        yield _anchor(check, anchors)


def _anchor(check: AnchorCheck, anchors: Anchors) -> str:
    anchor = check.anchor
    name = f"{anchor.name} {anchor.dispatch_key}".strip()
    if check.holds:
        return f"  ok    {name:<48} {anchor.file}:{check.line}"
    return f"  FAILS {name:<48} {anchor.file}: {check.why} ({Path(anchors.path).name}:{anchor.line})"


def _unmatched_lines(done: Verification, whole: bool) -> Iterator[str]:
    total = sum(len(group) for group in done.unmatched)
    if not total:
        yield "every registration in the tree is one that a convention matched"
        return
    spellings = len(done.unmatched)
    ways = f"{spellings} spellings" if spellings > 1 else "one spelling"
    yield f"looks like a registration, but no convention matched it: {total} in {ways}"
    for group in done.unmatched if whole else done.unmatched[:_GROUPS]:
        shown = group if whole else group[:_PLACES]
        yield f"  {len(group):>5} × {group[0].form} {group[0].name}"
        for site in shown:
            yield f"          {site.file}:{site.line}: {site.text[:90]}"
        if len(shown) < len(group):
            yield f"          and {len(group) - len(shown)} more"
        if text := proposal(group):
            yield "          proposed for the manifest:"
            yield from (f"            {line}" for line in text.rstrip("\n").split("\n"))
    if not whole and len(done.unmatched) > _GROUPS:
        yield f"  and {len(done.unmatched) - _GROUPS} more spellings: --all"
