"""What a question is answered with: frozen values, and the one mapping from them to JSON.

Places count lines from 1; files are given from the tree's root. `as_json` is the contract for
scripts: the names of its keys stay.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any, Final, Self

from torchtalkd import keys
from torchtalkd.queries.exact_standing import ExactStanding
from torchtalkd.store.view import View

ROLES: Final = (
    "python",
    "registry",
    "docs",
    "yaml",
    "entry",
    "structured_meta",
    "structured_impl",
    "native",
    "stub_kernel",
    "gpu_kernel",
    "registration",
    "autocast",
    "batching_rule",
    "derivative",
    "autograd_function",
    "decomposition",
    "meta",
    "ref",
    "lowering",
    "shape",
    "jit",
    "onnx",
    "test",
    "external",
)
"""What an item can be of a subject, in the order in which answers show them."""


@dataclass(frozen=True, slots=True)
class Subject:
    """One thing that the asked name means."""

    kind: str
    """operator, python function, class, C++ function, stub, macro, …"""
    name: str
    """Its full name: `aten::add`, `torch.nn.functional.layer_norm`, `at::native::add_kernel`."""
    note: str = ""
    """What to know at once: its overloads, how the name led here."""
    ids: tuple[int, ...] = ()
    """The definitions that it is, for a subject that is no operator."""
    overloads: tuple[str, ...] = ()
    """Of an operator: the overloads meant, by full name (`aten::add.Tensor`)."""
    answered: bool = True
    """Whether the answer's items are about it; if not, it is only named as another meaning."""
    root: str = ""
    """The root that it is of, if it is not the asked one."""


@dataclass(frozen=True, slots=True)
class Item:
    """One place that belongs to a subject."""

    role: str
    """One of ROLES."""
    symbol: str
    """The name that stands there, qualified."""
    file: str
    """From the root."""
    line: int
    """1-based, of the name."""
    evidence: str = "exact"
    """How sure: exact, declared, unique, candidate (see `torchtalkd.link.source`)."""
    operator: str = ""
    """The operator that it is a part of, with overload; '' where the subject is none."""
    dispatch_key: str = ""
    """CPU, CUDA, CompositeImplicitAutograd, …; '' where it has none."""
    block_line: int = 0
    """Of a registration: the line of the library block around it; 0 for none."""
    operators: tuple[str, ...] = ()
    """All overloads that share this place, `operator` among them; empty where it belongs to
    the operator as a whole."""
    kind: str = ""
    """What kind of definition stands there: function, class, macro, …"""
    signature: str = ""
    """The schema, signature or parameter list."""
    declared_file: str = ""
    """Where the place is bound, if elsewhere: the yaml line, REGISTER_DISPATCH, a decorator."""
    declared_line: int = 0
    """1-based; 0 for none."""
    convention: str = ""
    """Which convention bound it: native_functions, dispatch_stub, torch_library, …"""
    via: str = ""
    """What lies between it and the kernel that it was reached from: the stub, a helper."""
    through: str = ""
    """In the focus `dispatch`: the composite operators between the subject and this place's own
    operator, `aten::matmul > aten::mm`; '' for the subject's own places."""
    guard: str = ""
    """The #if conditions around it."""
    note: str = ""
    """A word more: a formula, what an alias stands for."""
    declares: bool = False
    """A declaration only, not the definition."""
    column: int = 0
    """0-based, in bytes, of the name."""
    root: str = ""
    """The root that `file` is in, absolute, if it is not the asked one."""
    declared_root: str = ""
    """The root that `declared_file` is in, if it is not the asked one."""


@dataclass(frozen=True, slots=True)
class Standing:
    """What every answer says about the index that it was made from."""

    revision: int
    """The revision of the index."""
    commit: str = ""
    """The commit checked out when it was made, '' if unknown."""
    branch: str = ""
    """The branch checked out then, '' if none."""
    waiting: int = 0
    """How many files are still to be read."""
    complete: bool = True
    """Whether the index holds every file of the tree."""
    unread: tuple[str, ...] = ()
    """Entries of the yaml files that could not be read, as `file:line: why`: an operator may be missing."""


class Standalone:
    """An answer with a form of its own: what it must say for the daemon to check it against the disk."""

    __slots__ = ()
    standing: Standing

    @property
    def cited(self) -> Iterable[str]:
        """The files that it names, from the root."""
        raise NotImplementedError

    def without(self, moved: frozenset[str]) -> Self:
        """Without what it says of files that moved on while it was made."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class OtherStanding:
    """Another root that an answer was made from, too."""

    root: str
    """Its folder, absolute."""
    harness: str
    standing: Standing
    """Of its index: an answer is of one revision of each root."""


@dataclass(frozen=True, slots=True)
class Uses:
    """How much another tree refers to what was asked for."""

    root: str
    """Its folder; '' for the asked one."""
    harness: str
    places: int
    """References in code: calls, imports, values, base classes."""
    files: int
    shown: int
    """How many of the places are items of the answer: the first ones, library code before tests."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to `trace` or `search`."""

    question: str
    """trace or search."""
    query: str
    """What was asked, as written."""
    focus: str
    """Of a trace: full, yaml, dispatch. Of a search: its mode."""
    subjects: tuple[Subject, ...]
    """What the query means, the best meaning first. Empty: nothing has that name."""
    items: tuple[Item, ...]
    """The places, by subject, layer and importance."""
    total: int
    """How many items there are."""
    standing: Standing
    """Of which index."""
    nearest: tuple[str, ...] = ()
    """Where nothing was found: names that exist and are spelled alike."""
    error: str = ""
    """Why the question cannot be answered as asked (an unknown backend); '' if it can."""
    root: str = ""
    """The asked tree's folder."""
    others: tuple[OtherStanding, ...] = ()
    """The other roots that the answer was made from."""
    uses: tuple[Uses, ...] = ()
    """Who refers to it, by root, where all roots were asked."""
    notes: tuple[str, ...] = ()
    """Sentences: what the answer lacks of other roots, and why."""
    wants: tuple[str, ...] = ()
    """The frameworks (of `depends_on`) that the question would look into, were their roots given."""

    @property
    def waiting(self) -> int:
        """How many files are still to be read, in all roots that the answer is made from."""
        return self.standing.waiting + sum(other.standing.waiting for other in self.others)

    @property
    def shown(self) -> int:
        """How many of the items are in this answer."""
        return len(self.items)

    @property
    def found(self) -> bool:
        """Whether the query is the name of something."""
        return bool(self.subjects)


@dataclass(frozen=True, slots=True)
class External:
    """The external references of a tree to one framework that it depends on, each edge counted once
    a file and name (`torchtalkd.queries.external` says what an edge is)."""

    base: str
    """The framework: pytorch."""
    imports: int
    """Import edges of Python files."""
    importing: int
    """Python files with an import edge."""
    library_imports: int
    """Of the import edges those of files that are no tests."""
    library_importing: int
    """The files that these stand in."""
    includes: int
    """Include edges of C++ files."""
    uses: int
    """Use edges."""
    using: int
    """Files with a use edge."""
    root: str = ""
    """The root that they are joined to, absolute; '' where none of that framework is known."""


@dataclass(frozen=True, slots=True)
class StatusAnswer:
    """What the index is, and how far it is."""

    standing: Standing
    """Revision, commit, branch, completeness."""
    root: str
    """The tree's folder."""
    harness: str
    """The manifest that it was read with."""
    version: str
    """The tree's own version, '' if it does not say."""
    files: int
    """How many files were read."""
    counts: dict[str, int] = field(default_factory=dict)
    """How many definitions of each kind."""
    problems: int = 0
    """How many things could not be read."""
    problem_samples: tuple[tuple[str, int, str, str], ...] = ()
    """Some of them: file, line, kind, message."""
    external: tuple[External, ...] = ()
    """For each framework that the tree depends on, what it takes from it."""
    exact: ExactStanding | None = None

    @property
    def waiting(self) -> int:
        """How many files are still to be read."""
        return self.standing.waiting


def packet_and_overload(operator: str) -> tuple[str, str]:
    """`aten::add.Tensor` → aten::add, Tensor; the overload without a name is `default`."""
    name = keys.operator_name(operator)
    return str(name._replace(overload="")), name.overload or "default"


def standing(view: View) -> Standing:
    """What the view's index says of itself."""
    return Standing(
        revision=view.revision,
        commit=view.meta("commit"),
        branch=view.meta("branch"),
        waiting=_number(view.meta("waiting")),
        complete=view.meta("complete") in ("1", "true", "yes"),
        unread=_unread(view),
    )


def _unread(view: View) -> tuple[str, ...]:
    known: tuple[str, ...] | None = view.kept.get("unread")
    if known is None:
        found = view.problems_of_languages(("native_functions", "derivatives", "tags"))
        known = view.kept["unread"] = tuple(
            f"{path}:{problem.line}: {problem.message}" for path, problem in found
        )
    return known


def _number(text: str) -> int:
    return int(text) if text.isdigit() else 0


def as_json(answer: Answer | StatusAnswer) -> dict[str, Any]:
    """The object that `--json` prints: `{query, subjects, items, total, shown, revision, …}`."""
    if isinstance(answer, StatusAnswer):
        return {
            "root": answer.root,
            "harness": answer.harness,
            "version": answer.version,
            **standing_json(answer.standing),
            "by_name": {"files": answer.files, "waiting": answer.standing.waiting},
            "exact": asdict(answer.exact) if answer.exact is not None else None,
            "counts": dict(answer.counts),
            "problems": answer.problems,
            "problem_samples": [
                {"file": file, "line": line, "kind": kind, "message": message}
                for file, line, kind, message in answer.problem_samples
            ],
            "external": [asdict(counted) for counted in answer.external],
        }
    found: dict[str, Any] = {
        "query": answer.query,
        "subjects": [subject.name for subject in answer.subjects],
        "subject_kinds": [subject.kind for subject in answer.subjects],
        "items": [_item_json(item, answer.root) for item in answer.items],
        "total": answer.total,
        "shown": answer.shown,
        "root": answer.root,
        **standing_json(answer.standing),
    }
    if answer.others:
        # The revision and the commit at the top are the asked root's; what waits counts all of them.
        others = [{"root": o.root, "harness": o.harness, **standing_json(o.standing)} for o in answer.others]
        found |= {"waiting": answer.waiting, "other_roots": others}
        found["complete"] = found["complete"] and all(other["complete"] for other in others)
    if answer.uses:
        found["uses"] = [asdict(used) | {"root": used.root or answer.root} for used in answer.uses]
    if answer.notes:
        found["notes"] = list(answer.notes)
    if answer.nearest:
        found["nearest"] = list(answer.nearest)
    if answer.error:
        found["error"] = answer.error
    return found


def standing_json(standing: Standing) -> dict[str, Any]:
    """What JSON says of an index."""
    found: dict[str, Any] = {
        "revision": standing.revision,
        "commit": standing.commit,
        "branch": standing.branch,
        "waiting": standing.waiting,
        "complete": standing.complete and not standing.waiting,
    }
    if standing.unread:
        found["unread"] = list(standing.unread)
    return found


_ALWAYS = ("role", "symbol", "operator", "evidence", "file", "line")
_IF_SAID = (
    "dispatch_key",
    "block_line",
    "operators",
    "kind",
    "signature",
    "declared_file",
    "declared_line",
    "convention",
    "via",
    "through",
    "guard",
    "note",
    "declares",
)


def _item_json(item: Item, root: str) -> dict[str, Any]:
    found: dict[str, Any] = {name: getattr(item, name) for name in _ALWAYS}
    found["root"] = item.root or root
    if item.declared_file and (item.root or item.declared_root):
        found["declared_root"] = item.declared_root or root
    for name in _IF_SAID:
        value = getattr(item, name)
        if value:
            found[name] = list(value) if isinstance(value, tuple) else value
    return found
