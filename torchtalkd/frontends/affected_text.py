"""The answer of `affected` as text, as arguments for pytest, as names for test/run_test.py. Pure."""

from __future__ import annotations

from typing import Final

from torchtalkd.frontends.counted import counted
from torchtalkd.frontends.text import printable
from torchtalkd.frontends.unknown_text import unknown_text
from torchtalkd.queries.affected import AffectedAnswer
from torchtalkd.queries.affected_tests import AffectedTest

SHOWN: Final = 40
"""Test files that are listed unless all are wanted."""
_MOST_HOPS: Final = 6
_RUN_TEST: Final = "test/"
"""Where run_test.py looks for tests; its names are paths below it without `.py`."""


def affected_text(answer: AffectedAnswer, *, whole: bool = False) -> str:
    """The tests with the reason of each; without a last newline."""
    if answer.error or answer.missing:
        return no_change(answer)
    lines = []
    if answer.everything:
        lines.append(f"everything, because {'; '.join(answer.everything)}")
    python = [test for test in answer.tests if not test.cpp]
    cpp = [test for test in answer.tests if test.cpp]
    share = f" ({100 * len(python) // answer.total} %)" if answer.total else ""
    lines.append(
        f"{len(python)} of {answer.total} test files{share}" + (f", {len(cpp)} of C++" if cpp else "")
    )
    if answer.things:
        lines.append("changed: " + _few([f"{thing.name} ({thing.kind})" for thing in answer.things]))
    if not answer.everything:
        most = None if whole else SHOWN
        lines += [_line(test) for test in python[:most]]
        if most is not None and len(python) > most:
            lines.append(f"{len(python) - most} more: --all")
        lines += [_line(test) for test in cpp[:most]]
        if most is not None and len(cpp) > most:
            lines.append(f"{len(cpp) - most} more of C++: --all")
    lines += [f"note: {note}" for note in answer.notes[: None if whole else 5]]
    if answer.standing.waiting:
        lines.append(f"{counted(answer.standing.waiting, 'file')} still to be read")
    return "\n".join(map(printable, lines))


def no_change(answer: AffectedAnswer) -> str:
    """Why there is no answer, and what to try."""
    if answer.error:
        return printable(answer.error)
    return unknown_text(f"nothing is called {', '.join(map(repr, answer.missing))}", answer.nearest)


def _line(test: AffectedTest) -> str:
    tests = f" [{', '.join(test.tests)}]" if test.tests else ""
    why = list(test.why)
    if len(why) > _MOST_HOPS:
        left = len(why) - _MOST_HOPS
        why = [*why[: _MOST_HOPS // 2], f"… {left} more", *why[-_MOST_HOPS // 2 :]]
    return f"{test.file}{tests}  {test.certainty}: {' > '.join(why)}"


def _few(names: list[str]) -> str:
    more = f" and {len(names) - 8} more" if len(names) > 8 else ""
    return ", ".join(names[:8]) + more


def pytest_arguments(answer: AffectedAnswer) -> str:
    """What pytest takes, one argument a line: files, and single tests where only these are affected."""
    lines: list[str] = []
    for test in answer.tests:
        if test.cpp:
            continue
        lines += [f"{test.file}::{name}" for name in test.tests] or [test.file]
    return "\n".join(lines)


def run_test_arguments(answer: AffectedAnswer) -> str:
    """What `python test/run_test.py -i` takes, one name a line. It runs nothing at all where it is given one
    that it does not take."""
    python = [test.file for test in answer.tests if not test.cpp and test.file not in answer.refused]
    names = [file for file in python if file.startswith(_RUN_TEST)]
    return "\n".join(name.removeprefix(_RUN_TEST).removesuffix(".py") for name in names)


def summary(answer: AffectedAnswer) -> str:
    """A job summary in Markdown."""
    python = [test for test in answer.tests if not test.cpp]
    lines = ["### Affected tests", ""]
    if answer.everything:
        return "\n".join([*lines, f"Everything, because {'; '.join(answer.everything)}."])
    lines += [
        f"{len(python)} of {answer.total} test files.",
        "",
        "| test | certainty | why |",
        "| --- | --- | --- |",
    ]
    for test in answer.tests[:200]:
        why = " > ".join(test.why).replace("|", "\\|")
        lines.append(f"| `{test.file}` | {test.certainty} | {why} |")
    if len(answer.tests) > 200:
        lines.append(f"\n{len(answer.tests) - 200} more.")
    return "\n".join(lines)
