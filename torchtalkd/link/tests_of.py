"""Which tests run something: an operator, a module, a Python name. Pure.

What is here errs on one side only. A list that cannot be worked out has every entry in it, so a test over
it may run the operator; `certain` says whether it is known to.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Final, NamedTuple

from torchtalkd import keys
from torchtalkd.facts import File, FiledDefinition, FiledReference
from torchtalkd.link.source import Facts
from torchtalkd.link.test_entries import Entry, entries, entries_of
from torchtalkd.link.test_functions import LISTED, PARAMETERS, Over, Test, over_lists, test_around, tests_in

_FORMS: Final = {"operator": "ops", "module": "modules", "optimizer": "optims"}


class Running(NamedTuple):
    """A test that may run something, and why."""

    test: Test
    reason: str
    """`@ops(op_db) has add`, `its body refers to torch.add`."""
    certain: bool
    """It runs it, as far as the text says; False: a list or a receiver is not known."""
    entries: tuple[Entry, ...] = ()
    """Of a test over a list: the entries by which it runs it; all of them where the list is not known."""

    @property
    def file(self) -> str:
        """The test's file, from the root."""
        return self.test.definition.file.path

    @property
    def line(self) -> int:
        """The line of the test's name."""
        return self.test.definition.fact.line


def tests_of_entries(facts: Facts, wanted: Iterable[Entry]) -> list[Running]:
    """The tests over lists that have one of some entries, by file and line."""
    wanted = list(wanted)
    found: dict[int, tuple[Over, list[Entry]]] = {}
    index = _overs(facts)
    for entry in wanted:
        for over in index.get(entry.definition.id, ()):
            found.setdefault(id(over), (over, []))[1].append(entry)
    running = [_running(over, hit) for over, hit in found.values()]
    decorated = _decorated(facts)
    running += [one for one in _looping(facts, wanted) if one.test.definition.file.id not in decorated]
    return sorted(running, key=lambda one: (one.file, one.line))


def _overs(facts: Facts) -> dict[int, list[Over]]:
    """Id of an entry → the tests over a list that has it; kept."""
    known: dict[int, list[Over]] | None = facts.kept.get("tests_of_entry")
    if known is None:
        known = facts.kept["tests_of_entry"] = {}
        of_form = {form: of for of, form in _FORMS.items()}
        for form in (*LISTED, *PARAMETERS):
            for over in over_lists(facts, form):
                for entry in over.selection.entries:
                    if entry.of == of_form.get(form, entry.of):
                        known.setdefault(entry.definition.id, []).append(over)
    return known


def _decorated(facts: Facts) -> frozenset[int]:
    """The ids of the files with tests over lists; kept."""
    known: frozenset[int] | None = facts.kept.get("files_over_lists")
    if known is None:
        overs = (over for form in (*LISTED, *PARAMETERS) for over in over_lists(facts, form))
        known = facts.kept["files_over_lists"] = frozenset(over.test.definition.file.id for over in overs)
    return known


def _looping(facts: Facts, wanted: Iterable[Entry]) -> Iterator[Running]:
    """The tests of files that import a list with one of the entries and put none on a decorator: what their
    bodies do with it is not known."""
    lists: dict[str, list[Entry]] = {}
    for entry in wanted:
        if entry.list:
            lists.setdefault(entry.list, []).append(entry)
    for name, hit in lists.items():
        for reference in facts.references(keys.py(name)):
            if reference.fact.kind == "import" and reference.file.role == "test":
                for test in tests_in(facts, reference.file):
                    yield Running(test, f"its file imports {name}", False, tuple(hit))


def _running(over: Over, hit: list[Entry]) -> Running:
    certain = over.selection.certain and not over.selection.everything
    names = ", ".join(dict.fromkeys(entry.full_name for entry in hit[:3]))
    more = f" and {len(hit) - 3} more" if len(hit) > 3 else ""
    reason = f"@{_short(over.case.text)} {'has' if certain else 'may have'} {names}{more}"
    return Running(over.test, reason, certain, tuple(hit))


def tests_of_operator(facts: Facts, name: str) -> list[Running]:
    """The tests that run an operator or function by its OpInfo entries: `aten::add.Tensor`, `torch.add`."""
    return tests_of_entries(facts, (e for e, _ in entries_of(facts, name) if e.of == "operator"))


def tests_of_module(facts: Facts, name: str) -> list[Running]:
    """The tests that run a module (or an optimizer) by its entries: `torch.nn.Linear`, `Linear`."""
    return tests_of_entries(facts, (e for e, _ in entries_of(facts, name) if e.of != "operator"))


def entries_running(facts: Facts, names: Collection[str]) -> list[Entry]:
    """The entries whose call runs one of some full Python names: `torch.add`, `torch.Tensor.add_`,
    `torch.testing._internal.common_methods_invocations.some_wrapper`."""
    index = _runs(facts)
    found = {entry.definition.id: entry for name in names for entry in index.get(name, ())}
    return list(found.values())


def tests_naming(facts: Facts, file: File, names: Collection[str]) -> list[Running]:
    """The tests of a file whose bodies refer to one of some full Python names; where a function of the file
    that is no test does, the tests that call it by name, and where a class or the module does, all its
    tests. A method of an unknown receiver counts by its last component, and is not certain."""
    lasts = {name.rpartition(".")[2] for name in names}
    found: dict[int, Running] = {}
    reached: list[FiledReference] = []
    for reference in _in_file(facts, file, lasts):
        certain = reference.fact.name in names
        if not certain and keys.space(reference.fact.key) != "attr" and "." in reference.fact.name:
            continue
        reached.append(reference)
        _add(facts, found, reference, reference.fact.name, certain)
    return sorted(found.values(), key=lambda running: running.line)


def _in_file(facts: Facts, file: File, lasts: Collection[str]) -> Iterator[FiledReference]:
    for last in sorted(lasts):
        for key in (keys.py(last), keys.attr(last)):
            for reference in facts.references(key):
                if reference.file.id == file.id and reference.fact.kind not in ("import", "star"):
                    yield reference


def _add(
    facts: Facts,
    found: dict[int, Running],
    reference: FiledReference,
    name: str,
    certain: bool,
    passed: frozenset[int] = frozenset(),
) -> None:
    test = test_around(facts, reference)
    if test is not None:
        known = found.get(test.definition.id)
        if known is None or (certain and not known.certain):
            found[test.definition.id] = Running(test, f"its body refers to {name}", certain)
        return
    owner = _outermost(facts, reference)
    if owner is None or owner.fact.kind in ("module", "class"):
        where = (
            "the module"
            if owner is None or owner.fact.kind == "module"
            else owner.fact.name.rpartition(".")[2]
        )
        for test in tests_in(facts, reference.file):
            inside = owner is None or owner.fact.kind == "module" or test.around == owner
            if inside:
                found.setdefault(test.definition.id, Running(test, f"{where} refers to {name}", False))
        return
    if owner.id in passed:
        return
    helper = owner.fact.name.rpartition(".")[2]
    for key in (keys.py(helper), keys.attr(helper)):
        for use in facts.references(key):
            if use.file.id == reference.file.id and use.fact.kind not in ("import", "star"):
                _add(facts, found, use, f"{name} through {helper}", False, passed | {owner.id})


def _outermost(facts: Facts, reference: FiledReference) -> FiledDefinition | None:
    """The function of the module or of a class that a reference stands in, else the class or module."""
    definition = facts.definition(reference.owner) if reference.owner >= 0 else None
    while definition is not None and definition.fact.kind == "function":
        around = facts.scope(definition)
        if around is None or around.fact.kind != "function":
            return definition
        definition = around
    return definition


def _runs(facts: Facts) -> dict[str, list[Entry]]:
    """Full Python name → the entries whose call runs it; kept."""
    known: dict[str, list[Entry]] | None = facts.kept.get("entries_running")
    if known is None:
        known = facts.kept["entries_running"] = {}
        by_file: dict[int, list[Entry]] = {}
        for entry in entries(facts).all:
            by_file.setdefault(entry.definition.file.id, []).append(entry)
            for name in _own_names(entry):
                known.setdefault(name, []).append(entry)
        for inside in by_file.values():
            _mentioned(facts, inside, known)
    return known


def _own_names(entry: Entry) -> Iterator[str]:
    """What an entry runs by its name alone (opinfo/core.py `__post_init__`): the function, the method, its
    in-place form, and the operator of the language."""
    if entry.of != "operator":
        yield entry.definition.fact.name
        return
    op = (entry.definition.fact.detail or {}).get("op")
    if isinstance(op, str):
        yield op
    for name in (entry.name, *entry.aliases):
        yield from (f"torch.{name}", f"torch.Tensor.{name}", f"torch.Tensor.{name}_", f"operator.{name}")


def _mentioned(facts: Facts, inside: list[Entry], known: dict[str, list[Entry]]) -> None:
    """Adds the names that the calls of one file's entries mention: `op=lambda x: torch.special.f(x)`."""
    starts = sorted(inside, key=lambda entry: entry.definition.fact.line)
    position = 0
    references = sorted(_outside(facts, inside[0].definition.file), key=lambda r: r.fact.line)
    open_: list[Entry] = []
    for reference in references:
        line = reference.fact.line
        while position < len(starts) and starts[position].definition.fact.line <= line:
            open_.append(starts[position])
            position += 1
        open_ = [entry for entry in open_ if entry.definition.fact.end_line >= line]
        for entry in open_:
            known.setdefault(reference.fact.name, []).append(entry)


def _outside(facts: Facts, file: File) -> list[FiledReference]:
    """The references of a file to Python names: calls and values."""
    return [
        reference
        for kind in ("call", "address")
        for reference in facts.references_of_kind(file, kind)
        if keys.space(reference.fact.key) == "py"
    ]


def _short(text: str) -> str:
    return text if len(text) <= 80 else text[:77] + "…"
