"""What is in a test file: its classes, functions, parameters, imports, and how many tests it makes."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from rapidfuzz import fuzz, process

from torchtalkd.facts import File, FiledDefinition
from torchtalkd.link.test_classes import NEVER, brought_in, why_not_collected
from torchtalkd.link.test_functions import Test, last, makers_of, methods_of, tests_in
from torchtalkd.link.test_ids import TestIds, ids_of
from torchtalkd.queries.answers import standing
from torchtalkd.queries.tests_answer import TestItem, TestsAnswer
from torchtalkd.queries.tests_items import MOST_IDS, file_item, short, test_files
from torchtalkd.store.view import View

_MOST_IMPORTS: Final = 30
_MOST_CASES: Final = 12
"""Decorators of a class's tests that are shown."""
_MOST_OTHERS: Final = 5
"""Files that the query may mean, too, of which the answer tells."""


def in_file(view: View, query: str, limit: int) -> TestsAnswer:
    """The file that a part of a path means, its classes and functions with the tests that they make."""
    answer = TestsAnswer("file_info", query, "all", (), 0, standing(view))
    if not query:
        return replace(answer, error="name a test file; a part of its path is enough: test_torch")
    files = meant(view, query)
    if not files:
        stems = {file.path.rpartition("/")[2].rpartition(".")[0]: file.path for file in test_files(view)}
        near = process.extract(query, list(stems), scorer=fuzz.ratio, limit=3, score_cutoff=60)
        return replace(answer, nearest=tuple(stems[stem] for stem, _, _ in near))
    file = files[0]
    kept: dict[int, list[TestItem]] = view.kept.setdefault("test_file_items", {})
    if file.id not in kept:
        kept[file.id] = _items(view, file)
    items = kept[file.id]
    others = tuple(f"also {other.path}" for other in files[1 : _MOST_OTHERS + 1])
    return replace(answer, items=tuple(items[: limit + 1]), total=len(items), groups=others)


def meant(view: View, query: str) -> list[File]:
    """The test files that a part of a path may mean: the whole path, then the file's name, then a part of
    that, then any part."""
    text = query.removeprefix("./").partition("::")[0]
    stem = text.removesuffix(".py")
    ranked = []
    for file in test_files(view):
        name = file.path.rpartition("/")[2]
        base = name.rpartition(".")[0]
        if file.path == text:
            rank = 0
        elif stem in (base, name) or file.path.endswith(f"/{text}") or file.path.rpartition(".")[0] == stem:
            rank = 1
        elif stem in base:
            rank = 2
        elif text in file.path:
            rank = 3
        else:
            continue
        ranked.append((rank, file.path.count("/"), len(file.path), file.path, file))
    return [row[-1] for row in sorted(ranked, key=lambda row: row[:-1])]


def _items(view: View, file: File) -> list[TestItem]:
    tests = tests_in(view, file)
    made = {test.definition.id: _here(ids_of(view, test, most_patterns=MOST_IDS), file) for test in tests}
    foreign = _brought_in(view, file)
    by_class: dict[int, list[Test]] = {}
    for test in tests:
        by_class.setdefault(test.around.id if test.around is not None else -1, []).append(test)
    certain = sum(len(found.ids) for found in made.values())
    unsure = sum(1 for found in made.values() if not found.certain)
    imports = _imports(view, file)
    certain += sum(item.count for item in foreign)
    said = f"{len(tests)} test functions make {certain} tests for certain"
    if unsure:
        said += f"; of {unsure} functions not all are known"
    head = replace(
        file_item(file.path, said, True),
        count=certain,
        details=(f"imports {', '.join(imports)}",) if imports else (),
    )
    items = [head]
    for definition in view.definitions_in(file):
        inside = by_class.get(definition.id)
        if definition.fact.kind == "class" and inside:
            items.append(_class(view, definition, inside, made))
    items += [_function(test, made[test.definition.id]) for test in by_class.get(-1, ())]
    return items + foreign


def _here(made: TestIds, file: File) -> TestIds:
    """Those that are collected in a file: a class that others extend makes tests in theirs, too."""
    if file.language != "python":
        return made
    begin = f"{file.path}::"
    ids = tuple(one for one in made.ids if one.startswith(begin))
    patterns = tuple(one for one in made.patterns if one.startswith(begin))
    return TestIds(ids, patterns, made.reasons if patterns else ())


def _brought_in(view: View, file: File) -> list[TestItem]:
    """The classes of other files whose tests are collected in this one."""
    found = []
    for class_ in brought_in(view, file) if file.language == "python" else ():
        tests = methods_of(view, class_)
        made = {test.definition.id: _here(ids_of(view, test, most_patterns=MOST_IDS), file) for test in tests}
        if any(ids.ids or ids.patterns for ids in made.values()):
            item = _class(view, class_, list(tests), made)
            found.append(replace(item, reason=f"{item.reason}; of another file, collected here"))
    return found


def _class(view: View, class_: FiledDefinition, tests: list[Test], made: dict[int, TestIds]) -> TestItem:
    why = why_not_collected(view, class_)
    makers = [short(case.text or f"@{case.form}") for case in makers_of(view, class_)]
    cases = dict.fromkeys(f"@{short(case.text)}" for test in tests for case in test.cases)
    found = [made[test.definition.id] for test in tests]
    return TestItem(
        "class",
        last(class_),
        class_.file.path,
        class_.fact.line,
        f"{len(tests)} test functions" + (f"; {why}" if why else ""),
        why != NEVER,
        tuple(name for ids in found for name in ids.ids[:1])[:MOST_IDS],
        sum(len(ids.ids) for ids in found),
        tuple(name for ids in found for name in ids.patterns[:1])[:MOST_IDS],
        tuple(dict.fromkeys(reason for ids in found for reason in ids.reasons))[:MOST_IDS],
        (*makers, *list(cases)[:_MOST_CASES]),
    )


def _function(test: Test, made: TestIds) -> TestItem:
    fact = test.definition.fact
    kind = "C++ test" if fact.kind == "test" else "function"
    cases = tuple(f"@{short(case.text)}" for case in test.cases)
    return TestItem(
        kind,
        test.name,
        test.definition.file.path,
        fact.line,
        "",
        True,
        made.ids[:MOST_IDS],
        len(made.ids),
        made.patterns[:MOST_IDS],
        made.reasons,
        cases,
    )


def _imports(view: View, file: File) -> list[str]:
    """What a file imports, or includes."""
    kinds = ("import", "star") if file.language == "python" else ("include",)
    names = dict.fromkeys(r.fact.name for kind in kinds for r in view.references_of_kind(file, kind))
    return list(names)[:_MOST_IMPORTS]
