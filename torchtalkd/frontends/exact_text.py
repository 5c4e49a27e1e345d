"""How much of the C++ a compiler has read → lines for model and terminal. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from torchtalkd.queries.exact_standing import ExactStanding


def exact_lines(found: ExactStanding) -> Iterator[str]:
    """The lines of `status`."""
    if found.off:
        yield f"exact C++: off; {found.off}. Everything else works, by name"
        return
    waits = f", {found.pending:,} wait" if found.pending else ""
    yield f"exact C++: {found.read:,} of {found.total:,} files with bodies read by libclang{waits}"
    yield from (f"  {note}" for note in found.notes)
    calls = found.resolved + found.unresolved
    if calls:
        share = 100 * found.resolved / calls
        yield (
            f"  calls: {found.resolved:,} resolved ({share:.1f} %), {found.unresolved:,} not;"
            f" {found.dependent:,} depend on templates and stay by name"
        )
    if found.missing:
        listed = ", ".join(f"{name} ({count})" for name, count in found.missing)
        yield f"  missing headers, and the units that want them: {listed}"
    for file, error in found.error_samples:
        yield f"  {file}: {error}"
    if found.with_errors > len(found.error_samples):
        yield f"  … {found.with_errors - len(found.error_samples)} more units with errors"
    for file, why in found.failed:
        yield f"  {file}: not read exactly: {why}"
