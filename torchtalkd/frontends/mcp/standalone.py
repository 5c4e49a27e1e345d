"""The tools whose answers have a form of their own: the question, the text, and what to ask next.

Each is one row of `OWN`; the desk does the rest alike for all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from torchtalkd.frontends.affected_text import no_change
from torchtalkd.frontends.graph_text import graph_lines, graph_text
from torchtalkd.frontends.mcp import paging
from torchtalkd.frontends.mcp.affected_page import affected_page
from torchtalkd.frontends.mcp.calls import Way, to
from torchtalkd.frontends.mcp.standing import left
from torchtalkd.frontends.mcp.tools import MOST_MATCHES
from torchtalkd.frontends.modules_text import modules_text, no_module
from torchtalkd.frontends.tests_text import tests_text
from torchtalkd.queries.affected import AffectedAnswer, affected
from torchtalkd.queries.graph import GraphAnswer, graph
from torchtalkd.queries.modules import ModulesAnswer, modules
from torchtalkd.queries.nearest import is_path
from torchtalkd.queries.tests import TestsAnswer, tests
from torchtalkd.store.view import View

Given = Mapping[str, Any]


class Text(NamedTuple):
    """An answer as text."""

    whole: str
    extract: str = ""
    """What the first page shows, where that is not the beginning of the whole."""


class Own(NamedTuple):
    """One tool."""

    question: Callable[[View, Given], Any]
    text: Callable[[Any], Text]
    ways: Callable[[Any, Given], Iterator[Way]]
    failed: Callable[[Any], bool]
    """Whether the answer is none: the name of nothing, or a question that cannot be asked so."""
    notes: Callable[[Any], Iterator[str]] = lambda answer: iter(())
    """What must be said beside it, of how sure it is."""
    absent: str = ""
    """Begins an answer where nothing has the name."""
    certainty: Callable[[Any], str] = lambda answer: ""
    """How sure it is, in a word, where its first line does not say so."""


def _graph(view: View, given: Given) -> GraphAnswer:
    names = ("func", "mode", "depth")
    flags = {name: given[name] for name in ("fuzzy_all_levels", "walk_python", "focus")}
    return graph(view, *(given[name] for name in names), **flags)


def _graph_text(answer: GraphAnswer) -> Text:
    levels = graph_lines(answer)
    whole = graph_text(answer, whole=True, levels=levels)
    first = graph_text(answer, most_bytes=paging.MOST_BYTES, levels=levels)
    return Text(_for_agents(whole), _for_agents(first))


_TERMINAL: Final = re.compile(r"^\d+ lines not shown: --limit N, --all$")


def _for_agents(text: str) -> str:
    """Without empty lines, and without the words of the command line."""
    lines = (line for line in text.split("\n") if line.strip() and not _TERMINAL.match(line))
    said = "\n".join(lines)
    return (
        said.replace("(--fuzzy-all-levels goes on)", "(fuzzy_all_levels=true goes on)")
        .replace(" more: --all", " more")
        .replace(" (--all goes on)", "")
    )


def _graph_ways(answer: GraphAnswer, given: Given) -> Iterator[Way]:
    func = given["func"]
    if not answer.found:
        if answer.nearest:
            yield to("the likest", "graph", func=answer.nearest[0], mode=answer.mode)
        yield to("names that contain it", "search", query=_last(func))
        return
    if answer.mode == "callers":
        yield to("further up, to Python", "graph", func=func, mode="impact", depth=3, focus="full")
    elif answer.mode == "calls":
        if all(node.kind == "operator" for node in answer.nodes if not node.level):
            for node in answer.nodes:
                if node.level == 1 and node.kind in _BODIES:
                    yield to("what its implementation calls", "graph", func=node.name, mode="calls")
                    break
            yield to("the kernel of each backend", "trace", func=func, focus="dispatch")
        else:
            yield to("who calls it", "graph", func=func, mode="callers")
    elif answer.depth < 5 and not answer.stopped and any(n.level == answer.depth for n in answer.nodes):
        yield to("one level more", "graph", func=func, mode="impact", depth=answer.depth + 1, focus="full")
    if answer.mode != "calls":
        yield to("the tests that reach it", "affected", funcs=func)


def _graph_notes(answer: GraphAnswer) -> Iterator[str]:
    if answer.found and answer.exact.read and answer.exact.pending:
        share = answer.exact
        yield (
            f"C++ call graph not complete: a compiler has read {share.read} of {share.total} units"
            f"{left(share)}; all else is known by name"
        )


_BODIES: Final = ("function", "kernel", "structured_impl")


def _affected(view: View, given: Given) -> AffectedAnswer:
    names = [name.strip() for name in _COMMA.split(given["funcs"]) if name.strip()]
    return affected(view, names, depth=given["depth"])


def _affected_text(answer: AffectedAnswer) -> Text:
    if answer.error or answer.missing:
        return Text(no_change(answer))
    return Text(affected_page(answer))


def _affected_ways(answer: AffectedAnswer, given: Given) -> Iterator[Way]:
    if answer.missing:
        if answer.nearest:
            yield to("the likest", "affected", funcs=answer.nearest[0])
        yield to("names that contain it", "search", query=_last(answer.missing[0]))
    elif answer.query:
        yield to("who calls it", "graph", func=answer.query[0], mode="impact", depth=3, focus="full")
        yield to("its OpInfo and tests by name", "tests", query=_last(answer.query[0]))


_COMMA: Final = re.compile(r",(?![^<>()]*[>)])")
"""Between names: not within the arguments of a template."""


def _sure(doubtful: int) -> str:
    return f"{doubtful} not certain" if doubtful else "certain"


def _last(name: str) -> str:
    if is_path(name):
        return name.rpartition("/")[2].partition(".")[0][:80]
    return (name.replace("::", ".").rpartition(".")[2] or name)[:80]


def _modules(view: View, given: Given) -> ModulesAnswer:
    return modules(view, given["name"], given["mode"], given["focus"], limit=_ALL)


def _modules_text(answer: ModulesAnswer) -> Text:
    return Text(modules_text(answer, whole=True) if answer.found else no_module(answer))


def _modules_ways(answer: ModulesAnswer, given: Given) -> Iterator[Way]:
    if not answer.found:
        if answer.nearest:
            yield to("the likest", "modules", name=answer.nearest[0])
        yield to("classes of a name", "modules", name=_last(given["name"]), mode="list")
        return
    runs = [run for card in answer.cards for method in card.methods for run in method.runs]
    runs.extend(run for card in answer.cards for run in card.runs)
    for operator in list(dict.fromkeys(run.name for run in runs if run.kind == "operator"))[:2]:
        yield to("down to the kernels", "trace", func=operator, focus="dispatch")
    if answer.cards and answer.focus != "full":
        yield to("bases and docstring", "modules", name=given["name"], focus="full")
    if answer.rows and not answer.cards:
        yield to("one of them", "modules", name=answer.rows[0].public)


def _tests(view: View, given: Given) -> TestsAnswer:
    mode, focus, limit = given["mode"], given["focus"], given["limit"]
    if mode == "utils":
        return tests(view, given["query"], mode, limit, category=focus)
    return tests(view, given["query"], mode, limit, focus)


def _is_bare(answer: TestsAnswer) -> bool:
    """Whether everything of a sort was asked for, and the tree has nothing of it."""
    return not (answer.items or answer.query or answer.error)


def _tests_text(answer: TestsAnswer) -> Text:
    if _is_bare(answer):
        return Text(f"this tree has no {answer.focus if answer.focus != 'all' else 'equipment'} for tests")
    return Text(tests_text(answer))


def _tests_ways(answer: TestsAnswer, given: Given) -> Iterator[Way]:
    query, mode = given["query"], given["mode"]
    same = {
        name: given[name] for name in ("query", "mode", "focus") if given[name] not in ("", "find", "all")
    }
    if len(answer.items) < answer.total:
        more = min(MOST_MATCHES, max(40, 4 * int(given["limit"])))
        yield to(f"{answer.total - len(answer.items)} more", "tests", **same, limit=more)
    if not answer.items:
        if answer.nearest:
            yield to("the likest", "tests", **{**same, "query": answer.nearest[0]})
        if query:
            yield to("names that contain it", "search", query=_last(query))
    elif mode == "find":
        files = [item.file for item in answer.items if item.file]
        if files:
            yield to("what is in the first file", "tests", query=files[0], mode="file_info")
        yield to("what must run when it changes", "affected", funcs=query)


_ALL: Final = 100_000
"""Classes of a list: pages cut it."""

OWN: Final[Mapping[str, Own]] = {
    "graph": Own(
        _graph,
        _graph_text,
        _graph_ways,
        lambda answer: not answer.found or bool(answer.error),
        _graph_notes,
        "Function not found",
    ),
    "modules": Own(
        _modules,
        _modules_text,
        _modules_ways,
        lambda answer: not answer.found or bool(answer.error),
        absent="Module not found",
        certainty=lambda answer: "certain" if answer.exact else "no name is exactly so",
    ),
    "tests": Own(
        _tests,
        _tests_text,
        _tests_ways,
        lambda answer: not answer.items and not _is_bare(answer),
        absent="No tests found",
        certainty=lambda answer: _sure(sum(not item.certain for item in answer.items)),
    ),
    "affected": Own(
        _affected,
        _affected_text,
        _affected_ways,
        lambda answer: bool(answer.missing or answer.error),
        absent="Function not found",
    ),
}
"""By core tool."""
