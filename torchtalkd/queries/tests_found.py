"""The tests of an operator, a function, a class or a concept.

Four ways lead to a test, surest first: its own name, an entry of OpInfo or its kin whose list its decorator
runs over, a reference in its body to exactly that name, and a method of that name on a receiver that is not
known.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import zip_longest
from typing import Final, NamedTuple

from torchtalkd import keys
from torchtalkd.facts import File, FiledDefinition
from torchtalkd.link.test_entries import Entry, entries, entries_of
from torchtalkd.link.test_functions import as_test, last, test_around
from torchtalkd.link.tests_of import tests_of_entries
from torchtalkd.queries.answers import standing
from torchtalkd.queries.tests_answer import TestItem, TestsAnswer
from torchtalkd.queries.tests_items import entry_item, file_item, test_files, test_item
from torchtalkd.store.view import View

_MOST_KEYS: Final = 150
"""Names of tests that are looked up; more of them are only counted."""
_MOST_SITES: Final = 60
"""References whose test is looked up; more of them are only counted."""
_WORDS: Final = re.compile(r"[^\W_]+")
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


class Hit(NamedTuple):
    """A test, or a class with tests, and how it was found."""

    rank: int
    """Lower is better."""
    definition: FiledDefinition
    reason: str
    certain: bool
    entries: tuple[Entry, ...] = ()


EXACT, LISTED, WORDS, REFERS, CONTAINS, METHOD = range(6)


def found(view: View, query: str, focus: str, limit: int) -> TestsAnswer:
    """What has to do with a query, the best first."""
    if not query:
        return _overview(view, focus, limit)
    meant = entries_of(view, query)
    entered = [entry for entry, _ in meant]
    hits: dict[int, Hit] = {}
    named, more_named = _by_name(view, query)
    listed = [
        Hit(LISTED, r.test.definition, r.reason, r.certain, r.entries)
        for r in tests_of_entries(view, entered)
    ]
    # Calls of a method of that name are many, and are asked for only where there is little else.
    enough = len(named) + len(listed) >= limit
    referring, more_referring = _by_reference(view, query, limit, methods=not enough)
    for hit in (*named, *listed, *referring):
        known = hits.get(hit.definition.id)
        if known is None or hit.rank < known.rank or (hit.entries and not known.entries):
            hits[hit.definition.id] = hit
    ordered = sorted(
        hits.values(),
        key=lambda h: (
            h.rank,
            not h.certain,
            h.definition.file.language != "python",
            len(last(h.definition)) if h.rank in (WORDS, CONTAINS) else 0,
            h.definition.file.path,
            h.definition.fact.line,
        ),
    )
    groups = _groups(len(meant), ordered, more_named, more_referring)
    items: Iterable[TestItem]
    if focus == "files":
        items = _files(view, query, ordered)
        total = len({h.definition.file.id for h in ordered} | {f.id for f in _named_files(view, query)})
    else:
        wanted = mixed([h for h in ordered if _fits(h, focus)])
        shown_entries = [entry_item(view, m.entry, m.reason) for m in meant] if focus == "all" else []
        if focus == "classes":
            wanted = _classes(view, ordered)
        few = shown_entries[: max(2, limit // 3)]
        items = (*few, *(_item(view, hit) for hit in wanted[: limit - len(few)]))
        total = len(shown_entries) + len(wanted) + (more_named + more_referring if focus != "classes" else 0)
    shown = tuple(item for item, _ in zip(items, range(limit), strict=False))
    return TestsAnswer("find", query, focus, shown, total, standing(view), groups)


def mixed(hits: list[Hit]) -> list[Hit]:
    """What is called exactly so, then by turns what has the words in its name, what runs over a list, and
    what refers to it; then what is only alike. Of lists the files with most of such tests come first."""
    by_rank: dict[int, list[Hit]] = {}
    for hit in hits:
        by_rank.setdefault(hit.rank, []).append(hit)
    counts: dict[str, int] = {}
    for hit in by_rank.get(LISTED, ()):
        counts[hit.definition.file.path] = counts.get(hit.definition.file.path, 0) + 1
    lists = sorted(by_rank.get(LISTED, ()), key=lambda h: (not h.certain, -counts[h.definition.file.path]))
    turns = zip_longest(lists, by_rank.get(WORDS, ()), by_rank.get(REFERS, ()))
    between = [hit for turn in turns for hit in turn if hit is not None]
    return [*by_rank.get(EXACT, ()), *between, *by_rank.get(CONTAINS, ()), *by_rank.get(METHOD, ())]


def _groups(entries_: int, hits: list[Hit], more_named: int, more_referring: int) -> tuple[str, ...]:
    counted: dict[str, int] = {}
    for hit in hits:
        what = {LISTED: "by lists", REFERS: "by reference", METHOD: "by a method"}.get(hit.rank, "by name")
        counted[what] = counted.get(what, 0) + 1
    if more_named:
        counted["by name"] = counted.get("by name", 0) + more_named
    if more_referring:
        counted["by reference or method"] = more_referring
    said = [f"{n} {what}" for what, n in counted.items()]
    listed = f"{entries_} {'entry' if entries_ == 1 else 'entries'}"
    return (*([listed] if entries_ else []), *said)


def _item(view: View, hit: Hit) -> TestItem:
    test = as_test(view, hit.definition)
    if test is None:
        return TestItem(
            "class", last(hit.definition), hit.definition.file.path, hit.definition.fact.line, hit.reason
        )
    return test_item(view, test, hit.reason, hit.certain, hit.entries or None)


def _fits(hit: Hit, focus: str) -> bool:
    return focus == "all" or (hit.definition.fact.kind == "class") is (focus == "classes")


def _classes(view: View, hits: list[Hit]) -> list[Hit]:
    """The classes among hits, and those around their tests."""
    found_: dict[int, Hit] = {}
    for hit in hits:
        class_ = hit.definition if hit.definition.fact.kind == "class" else view.scope(hit.definition)
        if class_ is not None and class_.fact.kind == "class":
            reason = hit.reason if class_ is hit.definition else f"{last(hit.definition)}: {hit.reason}"
            found_.setdefault(class_.id, hit._replace(definition=class_, reason=reason))
    return list(found_.values())


# -- by name


def _names(view: View) -> list[tuple[str, str]]:
    """What may be the name of a test or of its class, in small letters, and its key; each part is kept
    until a name of its space comes or goes."""
    kept = view.kept_of_names
    if ("py", "test_names") not in kept:
        low = ((keys.last(key).lower(), key) for key in view.keys("py"))
        kept["py", "test_names"] = [(name, key) for name, key in low if "test" in name]
    if ("test", "cpp_names") not in kept:
        kept["test", "cpp_names"] = [(keys.last(k).lower(), k) for k in view.keys("test") if "." in k]
    return [*kept["py", "test_names"], *kept["test", "cpp_names"]]


def words_of(text: str) -> list[str]:
    """The words of a name or a question in small letters: `TestBinaryUfuncs`, `nn.functional.gelu`."""
    return [word.lower() for part in _WORDS.findall(text) for word in _HUMP.split(part)]


def _by_name(view: View, query: str) -> tuple[list[Hit], int]:
    """The tests whose name has the query's words; how many more names there are than were looked up."""
    bare = query.rpartition("::")[2].partition("[")[0] if "::" in query else query
    exact = bare.rpartition(".")[2].lower()
    wanted = [word for word in words_of(bare) if word not in ("aten", "torch", "test")] or words_of(bare)
    if not wanted:
        return [], 0
    glued = "_".join(wanted)
    ranked: list[tuple[int, int, str, str]] = []
    whole_name = exact if exact.startswith("test") and exact.isidentifier() else ""
    for low, key in _names(view):
        if low == exact:
            ranked.append((EXACT, len(low), low, key))
        elif whole_name:
            if whole_name in low:
                ranked.append((WORDS if low.startswith(f"{whole_name}_") else CONTAINS, len(low), low, key))
        elif wanted[0] in low and all(word in low for word in wanted):
            parts = words_of(keys.last(key))
            whole = f"_{glued}_" in f"_{'_'.join(parts)}_" or all(word in parts for word in wanted)
            ranked.append((WORDS if whole else CONTAINS, len(low), low, key))
    ranked.sort()
    hits = [
        Hit(rank, definition, _named_reason(rank, query), True)
        for rank, _, _, key in ranked[:_MOST_KEYS]
        for definition in view.definitions(key)
        if _is_of_tests(view, definition)
    ]
    return hits, max(0, len(ranked) - _MOST_KEYS)


def _named_reason(rank: int, query: str) -> str:
    if rank == EXACT:
        return "it is called so"
    return f"its name has {'the word' if rank == WORDS else 'the text'} {query}"


def _is_of_tests(view: View, definition: FiledDefinition) -> bool:
    """Whether a definition is a test or a class in a test file."""
    if definition.fact.kind == "class":
        return definition.file.role == "test" and definition.file.language == "python"
    return as_test(view, definition) is not None


# -- by reference


def _by_reference(view: View, query: str, limit: int, *, methods: bool) -> tuple[list[Hit], int]:
    """The tests whose bodies refer to a name; how many more functions of tests there are that do."""
    name = query.rpartition("::")[2].partition("(")[0].strip()
    operator = "::" in query
    base = keys.operator_name(query).base if operator else name.rpartition(".")[2]
    if not base.isidentifier():
        return [], 0
    hits: list[Hit] = []
    more = 0
    wanted = max(limit * 2, _MOST_SITES)
    asked = [(keys.py(base), REFERS), (keys.cpp(base), REFERS)]
    for key, rank in (*asked, (keys.attr(base), METHOD)) if methods else asked:
        owners: dict[int, tuple[int, str]] = {}
        for number, reference in enumerate(sites := view.references(key)):
            if reference.file.role != "test" or reference.owner < 0 or reference.fact.kind == "import":
                continue
            if rank == REFERS and reference.fact.kind == "method":
                continue
            written = reference.fact.name
            spelled = keys.space(key) == "cpp" and "::" in written
            if rank == REFERS and not operator and "." in name and not (spelled or _same(written, name)):
                continue
            if rank == REFERS and written == base and keys.space(key) == "py" and "." in name:
                continue
            owners.setdefault(reference.owner, (number, written))
        chosen = list(owners.values())
        more += max(0, len(chosen) - wanted)
        for number, written in chosen[:wanted]:
            test = test_around(view, sites[number])
            if test is not None:
                said = f"its body refers to {written}" if rank == REFERS else f"its body calls .{base}(…)"
                hits.append(Hit(rank, test.definition, said, rank == REFERS))
    return hits, more


def _same(written: str, name: str) -> bool:
    """Whether a full name is meant by a spelling of it: torch.nn.functional.gelu by F.gelu or gelu."""
    short = name.partition(".")[2] if name.partition(".")[0] in ("F", "aten", "Tensor") else name
    return written == name or written.endswith(f".{short}")


# -- files, and nothing asked


def _files(view: View, query: str, hits: list[Hit]) -> Iterator[TestItem]:
    """The files of hits, those with the better and the more hits first."""
    by_file: dict[str, list[Hit]] = {}
    for hit in hits:
        by_file.setdefault(hit.definition.file.path, []).append(hit)
    named = [file.path for file in _named_files(view, query)]
    order = sorted(by_file, key=lambda path: (min(h.rank for h in by_file[path]), -len(by_file[path]), path))
    for path in dict.fromkeys((*named, *order)):
        inside = by_file.get(path, [])
        reason = "its name" if path in named else ""
        if inside:
            best = inside[0]
            said = f"{len(inside)} tests or classes, first {last(best.definition)}: {best.reason}"
            reason = f"{reason}; {said}" if reason else said
        yield file_item(path, reason, any(h.certain for h in inside) or path in named)


def _named_files(view: View, query: str) -> list[File]:
    wanted = words_of(query)
    found_ = []
    for file in test_files(view):
        parts = words_of(file.path.rpartition("/")[2].rpartition(".")[0])
        if wanted and all(word in parts for word in wanted):
            found_.append(file)
    return found_


def _overview(view: View, focus: str, limit: int) -> TestsAnswer:
    files = test_files(view)
    infos: dict[str, int] = {}
    for entry in entries(view).all:
        infos[entry.info] = infos.get(entry.info, 0) + 1
    said = tuple(f"{n} {info}" for info, n in sorted(infos.items()))
    items = tuple(file_item(file.path, "a test file", True) for file in files[:limit])
    return TestsAnswer("find", "", focus, items, len(files), standing(view), said)
