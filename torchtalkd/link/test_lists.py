"""Which entries a list expression of a test file selects: `op_db`, `[op for op in op_db if op.supports_out]`.
Pure.

A condition that cannot be worked out keeps its entry, and a list that cannot be worked out is all of them:
whoever asks what a change breaks must not miss a test.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from torchtalkd import keys
from torchtalkd.facts import File, FiledDefinition
from torchtalkd.link.expression_values import UNDEFINED, UNKNOWN
from torchtalkd.link.expressions import Evaluation
from torchtalkd.link.source import Facts
from torchtalkd.link.test_entries import Entries, Entry, entries

LIST: Final = "test_list"
"""The convention of a list of entries (`parse.python_tests`)."""
_DEEPEST: Final = 12


class Selection(NamedTuple):
    """The entries of a list."""

    entries: tuple[Entry, ...]
    everything: bool
    """It could not be worked out, so that all entries are meant."""
    certain: bool
    """Each condition was known, so that these and no others are in it."""


class Names:
    """What the names in the expressions of one file stand for."""

    def __init__(self, facts: Facts, file: File, depth: int = 0) -> None:
        self._facts = facts
        self._file = file
        self._depth = depth
        self._known: Entries = entries(facts)
        self._asked: dict[str, Any] = {}
        module = next(iter(facts.definitions_in(file)), None)
        self._constants: dict[str, str] = (module.fact.detail or {}).get("constants", {}) if module else {}
        self.evaluation = Evaluation(self._look_up, self._known.call)

    def value(self, text: str) -> Any:
        """What an expression of the file comes to."""
        return self.evaluation.text(text)

    def argument(self, call: ast.Call | None, which: int | str) -> Any:
        """What an argument of a call comes to, by position or keyword; UNDEFINED where none is given."""
        if call is None:
            return UNKNOWN
        if isinstance(which, int):
            given = call.args[which] if which < len(call.args) else None
        else:
            given = next((k.value for k in call.keywords if k.arg == which), None)
        return UNDEFINED if given is None else self.evaluation.value(given, {})

    def items(self, nodes: Iterable[ast.expr]) -> list[Any] | None:
        """What several arguments come to, `*` followed; None where one of them is not known."""
        found = self.evaluation.value(ast.List(elts=list(nodes), ctx=ast.Load()), {})
        return found if isinstance(found, list) and UNKNOWN not in found else None

    def applied(self, function: ast.expr, values: Iterable[Any]) -> str | None:
        """The text that a lambda makes of some values; None where that is not known."""
        if not isinstance(function, ast.Lambda):
            return None
        bound = dict(zip([a.arg for a in function.args.args], values, strict=False))
        found = self.evaluation.value(function.body, bound)
        return found if isinstance(found, str) else None

    def _look_up(self, name: str) -> Any:
        if name not in self._asked:
            self._asked[name] = UNKNOWN  # what is made of itself is not known
            self._asked[name] = self._meaning(name)
        return self._asked[name]

    def _meaning(self, name: str) -> Any:
        if name in self._constants:
            return self.value(self._constants[name])
        found = _list_called(self._facts, self._file, name)
        return UNDEFINED if found is None else self._entries(found)

    def _entries(self, variable: FiledDefinition) -> Any:
        if self._depth > _DEEPEST:
            return UNKNOWN
        detail = variable.fact.detail or {}
        last = variable.fact.name.rpartition(".")[2]
        own = self._known.of_list.get((variable.file.id, last), [])
        same = variable.file.id == self._file.id
        names = self if same else Names(self._facts, variable.file, self._depth + 1)
        found: list[Any] = list(own)
        parts = [part for part in (detail.get("value"), *detail.get("added", ())) if part]
        if not own and not parts:
            return UNKNOWN
        for part in parts:
            value = names.value(part)
            if isinstance(value, (list, tuple)):
                found += [item for item in value if isinstance(item, Entry)]
            else:
                return UNKNOWN  # a list with more in it than is known is any list
        self.evaluation.certain = self.evaluation.certain and names.evaluation.certain
        return found


def selected(facts: Facts, file: File, text: str) -> Selection:
    """The entries that an expression in a file selects."""
    known: dict[tuple[int, str], Selection] = facts.kept.setdefault("test_selections", {})
    found = known.get((file.id, text))
    if found is None:
        names = Names(facts, file)
        found = known[file.id, text] = selection(facts, names.value(text), names.evaluation.certain)
    return found


def selection(facts: Facts, value: Any, certain: bool) -> Selection:
    """The entries of a value that was worked out."""
    if not isinstance(value, (list, tuple)) or not all(isinstance(item, Entry) for item in value):
        return Selection(entries(facts).all, True, False)
    return Selection(tuple({item.definition.id: item for item in value}.values()), False, certain)


def _list_called(facts: Facts, file: File, name: str) -> FiledDefinition | None:
    """The list that a name of a file stands for: its own, or one that it imports."""
    last = name.rpartition(".")[2]
    candidates = [d for d in facts.definitions(keys.py(last)) if d.fact.convention == LIST]
    own = [d for d in candidates if d.file.id == file.id]
    if own and name == last:
        return own[0]
    if not candidates:
        return None
    if name != last:
        fitting = [d for d in candidates if f".{d.fact.name}".endswith(f".{name}")]
        candidates = fitting or candidates
    imported = _imported(facts, file)
    direct = [d for d in candidates if d.fact.name in imported]
    if direct:
        return direct[0]
    # `import m; m.op_db`, `from m import *`.
    through = [d for d in candidates if d.fact.name.rpartition(".")[0] in imported]
    if len(through) == 1:
        return through[0]
    beside = _beside(file, through or candidates) if name != last else []
    return beside[0] if beside else candidates[0] if len(candidates) == 1 else None


def _beside(file: File, candidates: list[FiledDefinition]) -> list[FiledDefinition]:
    """The candidates in the folder of a file, or below it."""
    folder = file.path.rpartition("/")[0]
    return [d for d in candidates if d.file.path.startswith(f"{folder}/")]


def _imported(facts: Facts, file: File) -> frozenset[str]:
    """The full names that a file imports, by whatever name."""
    known: dict[int, frozenset[str]] = facts.kept.setdefault("test_imports", {})
    found = known.get(file.id)
    if found is None:
        names = {r.fact.name for kind in ("import", "star") for r in facts.references_of_kind(file, kind)}
        for definition in facts.definitions_in(file):
            if definition.fact.kind == "alias" and (definition.fact.detail or {}).get("import"):
                names.update(t.fact.name for t in facts.targets(definition))
        found = known[file.id] = frozenset(names)
    return found
