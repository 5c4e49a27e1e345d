"""The entries of test lists: OpInfo and its kin, with their names as the running framework has them.

What an entry does not say its class does (`[[link.test_infos]]` of a manifest), or the entry that a
reference takes its arguments over from. Pure; kept for a revision.
"""

from __future__ import annotations

from ast import Constant
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

from torchtalkd import keys
from torchtalkd.facts import FiledDefinition, TestInfo, TestRules
from torchtalkd.link.expression_values import UNDEFINED, UNKNOWN, Attributed, Called, Named
from torchtalkd.link.expressions import Evaluation, parsed
from torchtalkd.link.source import Facts

_MOST_BASES: Final = 20
_MOST_HOPS: Final = 30


class Entry(Attributed):
    """One entry. Its attributes are worked out when asked for: `attribute("supports_out")`."""

    __slots__ = (
        "_asked",
        "_changed",
        "_known",
        "definition",
        "info",
        "list",
        "name",
        "of",
        "origin",
        "variant",
    )

    def __init__(self, definition: FiledDefinition, known: Entries) -> None:
        detail = definition.fact.detail or {}
        self.definition = definition
        self.info: str = detail.get("info", "")
        """Its class: `UnaryUfuncInfo`."""
        self.list: str = detail.get("list", "")
        """The variable whose list it is written in; '' for none."""
        self.name = known.name_of(self.info, definition.fact.name)
        """As the framework has it: `special.erf`, `_foreach_add`, `nn.Linear`."""
        self.origin: Entry | None = None
        """The entry whose arguments it takes over."""
        self.of: str = next((info.of for info in known.chain(self.info) if info.of), "")
        """What it tests: operator, module, optimizer."""
        self._known = known
        self._asked: dict[str, Any] = {}
        self._changed = False
        self.variant = ""

    def changed(self) -> Entry:
        """The same entry as a function may have changed it: of its attributes nothing is known."""
        other = Entry(self.definition, self._known)
        other.origin, other.variant, other._changed = self.origin, self.variant, True
        return other

    @property
    def full_name(self) -> str:
        """With its variant: `div.floor_rounding`."""
        return f"{self.name}.{self.variant}" if self.variant else self.name

    @property
    def formatted_name(self) -> str:
        """As test names spell it: `div_floor_rounding`."""
        return self.full_name.replace(".", "_")

    @property
    def aten_name(self) -> str:
        """The operator in aten that it names, without namespace; '' where that is not known."""
        value = self.attribute("aten_name")
        return value if isinstance(value, str) else ""

    @property
    def aten_backward_name(self) -> str:
        """That of its derivative; '' where none is named."""
        value = self.attribute("aten_backward_name")
        return value if isinstance(value, str) else ""

    @property
    def aliases(self) -> tuple[str, ...]:
        """Other names of the same function below torch: `special.expit`."""
        value = self.attribute("aliases")
        return tuple(a for a in value if isinstance(a, str)) if isinstance(value, (list, tuple)) else ()

    def dtypes(self, argument: str = "dtypes") -> frozenset[str] | None:
        """The types that an argument names; None where that is not known."""
        value = self.attribute(argument)
        return types_of(value, self._known.rules)

    def attribute(self, name: str) -> Any:
        """What the entry's attribute is at run time, or UNKNOWN."""
        if self._changed:
            return UNKNOWN
        if name not in self._asked:
            self._asked[name] = UNKNOWN  # of an argument that is said to be itself nothing is known
            self._asked[name] = self._attribute(name)
        return self._asked[name]

    def _attribute(self, name: str) -> Any:
        chain = self._known.chain(self.info)
        match name:
            case "__mro__":
                return [self.info, *(info.name for info in chain[1:])] if chain else UNKNOWN
            case "name":
                return self.name
            case "full_name":
                return self.full_name
            case "formatted_name":
                return self.formatted_name
            case "variant_test_name":
                return self.variant
        text = self._known.text_of(self, name, chain)
        if not text:
            return UNKNOWN
        value = Evaluation(self._sibling, self._known.call).text(text)
        default = self._known.default(name, chain)
        if (
            value is None
            and default is not None
            and default != text
            and not isinstance(parsed(default), Constant)
        ):
            # Given as None, it is made of the others like one that is not given.
            return Evaluation(self._sibling, self._known.call).text(default)
        return value

    def _sibling(self, name: str) -> Any:
        """What a name in a default means: another argument; `given` is the arguments that are given."""
        if name == "given":
            return self._known.given(self)
        known = any(
            name in table for info in self._known.chain(self.info) for table in (info.defaults, info.sets)
        )
        return self.attribute(name) if known or name == "name" else UNDEFINED


class Entries:
    """All entries of a revision."""

    def __init__(self, facts: Facts) -> None:
        self.rules: TestRules = facts.rules.tests
        self._infos = {info.name: info for info in facts.rules.test_infos}
        self._chains: dict[str, tuple[TestInfo, ...]] = {}
        found = [Entry(d, self) for d in facts.definitions_of_kind("test") if "info" in (d.fact.detail or {})]
        self.all: tuple[Entry, ...] = tuple(found)
        """By file and place."""
        self._by_name: dict[str, list[Entry]] = {}
        for entry in found:
            self._by_name.setdefault(entry.name, []).append(entry)
        for entry in found:
            self._find_origin(entry)
        for entry in found:
            entry.variant = self._variant(entry)
        self.of_list: dict[tuple[int, str], list[Entry]] = {}
        """By the file's id and the variable that holds them."""
        for entry in found:
            if entry.list:
                self.of_list.setdefault((entry.definition.file.id, entry.list), []).append(entry)

    def named(self, name: str) -> list[Entry]:
        """The entries with a name, their variants together."""
        return self._by_name.get(name, [])

    def chain(self, info: str) -> tuple[TestInfo, ...]:
        """What the manifest says of a class and of those that it extends."""
        found = self._chains.get(info)
        if found is None:
            links: list[TestInfo] = []
            name = info
            while name in self._infos and len(links) < _MOST_BASES:
                links.append(self._infos[name])
                name = links[-1].base
            found = self._chains[info] = tuple(links)
        return found

    def name_of(self, info: str, written: str) -> str:
        """The name of an entry, given what stands in its call."""
        for part in next((i.without for i in self.chain(info) if i.without), ()):
            written = written.replace(part, "", 1) if written.startswith(part) or part[0] == "." else written
        of = next((i.of for i in self.chain(info) if i.of), "")
        return written.rpartition(".")[2] if of == "optimizer" else written

    def text_of(self, entry: Entry, name: str, chain: Iterable[TestInfo]) -> str | None:
        """The expression that an argument is, '' for one that was too long to keep; None: nobody says."""
        chain = tuple(chain)
        for info in chain:
            if name in info.sets:
                return info.sets[name]
        said = (entry.definition.fact.detail or {}).get("said", {})
        if name in said:
            # What a loop or a function's caller puts in stands beside the text.
            kept = (entry.definition.fact.detail or {}).get(name)
            return repr(kept) if isinstance(kept, (str, list)) else str(said[name])
        if entry.origin is not None:
            for info in chain:
                if name in info.replaces:
                    return info.replaces[name]
            inherited = self._inherited(entry, name)
            if inherited is not None:
                return inherited
        return self.default(name, chain)

    def default(self, name: str, chain: Iterable[TestInfo]) -> str | None:
        """What an argument is that nobody gives."""
        return next((info.defaults[name] for info in chain if name in info.defaults), None)

    def given(self, entry: Entry) -> list[str]:
        """The arguments that an entry, or one that it takes over from, is given by keyword."""
        found: list[str] = []
        around: Entry | None = entry
        for _ in range(_MOST_HOPS):
            if around is None:
                break
            found += (around.definition.fact.detail or {}).get("said", {})
            around = around.origin
        return found

    def call(self, name: str, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        """What a function that names types returns; None for any other."""
        last = name.rpartition(".")[2]
        group = self.rules.dtypes.get(last)
        if group is None:
            group = self.rules.dtypes.get(last.removesuffix("_and"))
        if group is None:
            return None
        if keywords:
            return UNKNOWN
        return (*map(Named, group), *arguments)

    def _inherited(self, entry: Entry, name: str) -> str | None:
        origin, hops = entry.origin, 0
        while origin is not None and hops < _MOST_HOPS:
            said = (origin.definition.fact.detail or {}).get("said", {})
            if name in said and not self._keeps(origin, name, entry):
                kept = (origin.definition.fact.detail or {}).get(name)
                return repr(kept) if isinstance(kept, (str, list)) else str(said[name])
            origin, hops = origin.origin, hops + 1
        return None

    def _keeps(self, origin: Entry, name: str, entry: Entry) -> bool:
        """Whether an entry hands an argument on to none but those of its own class."""
        heirs = self.chain(entry.info)
        return any(name in info.own and info not in heirs for info in self.chain(origin.info))

    def _find_origin(self, entry: Entry) -> None:
        inherits = next((info.inherits for info in self.chain(entry.info) if info.inherits), ())
        if not inherits:
            return
        name, *variants = (_text(self._first(entry, words)) for words in inherits)
        if name is None:
            return
        wanted = variants[0] or "" if variants else ""
        candidates = [e for e in self.named(name) if e is not entry and self._variant(e) == wanted]
        # The lists of one file come first: it may be read before the others are put together.
        candidates.sort(key=lambda e: e.definition.file.id != entry.definition.file.id)
        entry.origin = candidates[0] if candidates else None

    def _first(self, entry: Entry, words: str) -> Any:
        said = (entry.definition.fact.detail or {}).get("said", {})
        text = next((said[word] for word in words.split("|") if word in said), None)
        return Evaluation().text(text) if text else None

    def _variant(self, entry: Entry) -> str:
        """Its variant, which only a literal, or an entry that it takes over from, says."""
        text = self.text_of(entry, "variant_test_name", self.chain(entry.info))
        return _text(Evaluation().text(text)) or "" if text else ""


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def entries(facts: Facts) -> Entries:
    """The entries of the revision; kept until a definition of a test comes, goes or changes."""
    what = (keys.space(keys.test("")), "test_entries")
    known: Entries | None = facts.kept_of_definitions.get(what)
    if known is None:
        known = facts.kept_of_definitions[what] = Entries(facts)
    return known


class Meant(NamedTuple):
    """An entry that tests something, and why."""

    entry: Entry
    reason: str


def entries_of(facts: Facts, name: str) -> list[Meant]:
    """The entries that test an operator, a function, a module or an optimizer, in any spelling
    (`aten::add.Tensor`, `torch.add`, `special.expit`, `torch.nn.Linear`), with what each goes by."""
    index = _index(facts)
    found: dict[int, tuple[int, Meant]] = {}
    for spelling in _spellings(name):
        for rank, meant in index.get(spelling, ()):
            known = found.get(meant.entry.definition.id)
            if known is None or rank < known[0]:
                found[meant.entry.definition.id] = (rank, meant)
    return [meant for _, meant in sorted(found.values(), key=_order)]


def _order(row: tuple[int, Meant]) -> tuple[int, bool, str, int]:
    """The better names first, of these the framework's own lists, then by place."""
    file = row[1].entry.definition.file
    return row[0], file.role != "library", file.path, row[1].entry.definition.id


def _spellings(name: str) -> list[str]:
    if "::" in name:
        return [keys.operator_name(name).base]
    found = [name]
    for prefix in ("torch.Tensor.", "Tensor.", "torch.", "F.", "functional.", "aten."):
        if name.startswith(prefix):
            rest = name.removeprefix(prefix)
            found.append(f"nn.functional.{rest}" if prefix in ("F.", "functional.") else rest)
    return found


def _index(facts: Facts) -> dict[str, list[tuple[int, Meant]]]:
    """Each name that an entry goes by → the entries, with how good a name it is; kept."""
    known: dict[str, list[tuple[int, Meant]]] | None = facts.kept.get("test_entry_names")
    if known is None:
        known = facts.kept["test_entry_names"] = {}
        for entry in entries(facts).all:
            for rank, (name, reason) in enumerate(_goes_by(entry)):
                if name:
                    known.setdefault(name, []).append((rank, Meant(entry, reason)))
    return known


def _goes_by(entry: Entry) -> Iterator[tuple[str, str]]:
    """The names of an entry, the best first, with the reason that each is."""
    yield entry.name, f"the entry is called {entry.name}"
    yield entry.full_name, f"the entry is called {entry.full_name}"
    if entry.of == "operator":
        yield entry.aten_name, f"its aten_name is {entry.aten_name}"
        yield entry.aten_backward_name, f"its aten_backward_name is {entry.aten_backward_name}"
        for alias in entry.aliases:
            yield alias, f"{alias} is an alias of {entry.name}"
        if entry.origin is not None:
            yield entry.origin.name, f"a reference of {entry.origin.name}"
    if "." in entry.name:
        yield entry.name.rpartition(".")[2], f"the last part of {entry.name}"


def types_of(value: Any, rules: TestRules) -> frozenset[str] | None:
    """The types that a value names: `torch.half` → float16; None where one is not known."""
    found = set()
    for item in value if isinstance(value, (list, tuple, set, frozenset)) else (value,):
        if isinstance(item, Called) or not isinstance(item, Named):
            return None
        last = item.name.rpartition(".")[2]
        found.add(rules.dtype_names.get(last, last))
    return frozenset(found)
