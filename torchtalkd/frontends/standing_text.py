"""What an answer says of the indexes that it was made from: revision, commit, what is missing; and of
the other roots: which, and who there refers to the subject."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from torchtalkd.frontends.counted import counted
from torchtalkd.queries.answers import Answer, External, Standing


def standing_words(standing: Standing) -> Iterable[str]:
    """Revision and commit, and whether something is missing, piece by piece."""
    yield f"revision {standing.revision}"
    if standing.commit:
        yield f"commit {standing.commit[:10]}" + (f" on {standing.branch}" if standing.branch else "")
    if standing.waiting or not standing.complete:
        waiting = (
            f"{counted(standing.waiting, 'file')} still to be read"
            if standing.waiting
            else "some files are not read"
        )
        yield f"INCOMPLETE: {waiting}"


def unread_lines(standing: Standing) -> Iterable[str]:
    """What of the yaml files is missing from any answer."""
    for said in standing.unread[:_MOST_UNREAD]:
        yield f"NOT READ: {said}"
    if len(standing.unread) > _MOST_UNREAD:
        yield f"NOT READ: {len(standing.unread) - _MOST_UNREAD} entries more; see status"


_MOST_UNREAD: Final = 3


def root_lines(answer: Answer) -> Iterable[str]:
    """The other roots, each with its revision, what is missing of them, and who refers to the subject."""
    for other in answer.others:
        yield " · ".join((f"with {other.root} ({other.harness})", *standing_words(other.standing)))
        yield from unread_lines(other.standing)
    yield from (f"NOTE: {note}" for note in answer.notes)
    for used in answer.uses:
        places = "1 place" if used.places == 1 else f"{used.places:,} places"
        files = "1 file" if used.files == 1 else f"{used.files:,} files"
        first = f" (the first {used.shown} below)" if used.shown < used.places else ""
        yield f"used in {used.root or answer.root} ({used.harness}): {places} in {files}{first}"


def external_text(e: External) -> str:
    """What a tree takes from one framework, and where that lies."""
    return (
        f"external references: {e.imports:,} imports to {e.base} from {e.importing:,} modules"
        f" ({e.library_imports:,} from {e.library_importing:,} without tests),"
        f" {e.includes:,} includes, {e.uses:,} uses in {e.using:,} files;"
        f" {f'joined to {e.root}' if e.root else f'no tree of {e.base} is known'}"
    )
