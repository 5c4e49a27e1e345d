"""across: trace and search where the tree is not the only one: its bases, or all roots, are looked into.

A name goes to a base framework only where the asked tree has it not: `torch.matmul` in an extension is
answered from the framework's index, by the framework's rules. What a Python function takes from a
framework is joined to its place there. Where all roots are asked, those that refer to the subject are
counted and the first places listed (`uses`). An item of another tree says its root; files stay relative
to their own. What would be looked into is named in `Answer.wants`, so that whoever asks can give it.
The tests are in `tests/test_across.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from heapq import merge
from typing import Final

from torchtalkd.link import operators, python_names, wrappers
from torchtalkd.queries import search as searching
from torchtalkd.queries import trace as tracing
from torchtalkd.queries.answers import Answer, Item, Subject, packet_and_overload
from torchtalkd.queries.collect import with_through
from torchtalkd.queries.external import place_in
from torchtalkd.queries.others import NONE, Other, Others, base_of
from torchtalkd.queries.trace_kernels import kernel_items
from torchtalkd.queries.uses import MOST_SHOWN, uses
from torchtalkd.store.view import View

MOST_JOINED: Final = 40
"""Names of a framework that one function takes; those after them are not joined."""
MOST_OPERATORS: Final = 8
"""Operators of a framework whose kernels are listed for one function, as within a tree (`trace_body`)."""


def trace(
    view: View,
    name: str,
    focus: tracing.Focus = "full",
    others: Others = NONE,
    *,
    most_uses: int = MOST_SHOWN,
) -> Answer:
    """Where a name is implemented: in the asked tree or, where it has no such name, in one of its bases.
    Read-only. Raises ValueError for another focus."""
    answer = tracing.trace(view, name, focus)
    if not answer.found:
        answer = _from_base(view, answer, name, focus, others)
    else:
        answer = _declared_in_base(view, _joined(view, answer, others), focus, others)
    if others.all:
        answer = _with_kernels(view, answer, focus, others)
        answer = _with_uses(view, answer, others, most_uses)
    return replace(answer, others=others.standings(), notes=(*answer.notes, *others.notes))


def search(
    view: View,
    query: str,
    mode: searching.Mode = "bindings",
    backend: str = "",
    limit: int = 10,
    others: Others = NONE,
) -> Answer:
    """Names that contain a text: of the asked tree, or of all roots that are given. External references
    are joined to their places in the bases. Read-only. Raises ValueError for another mode."""
    answer = searching.search(view, query, mode, backend, limit)
    if others.all:
        further = [(o, searching.search(o.view, query, mode, backend, limit)) for o in others.roots]
        answer = _together(answer, further, limit)
    if mode == "external" and answer.items:
        answer = replace(
            answer,
            items=tuple(_placed(item, view, others) for item in answer.items),
            wants=tuple(view.rules.bases),
        )
    return replace(answer, others=others.standings(), notes=(*answer.notes, *others.notes))


def _together(own: Answer, further: list[tuple[Other, Answer]], limit: int) -> Answer:
    """The matches of several roots as one answer, ranked together; the asked root's come first among
    equals. A backend that only some trees have is no mistake."""
    sound = [(other, answer) for other, answer in further if not answer.error]
    if own.error and not sound:
        return own
    listed = [[] if own.error else list(own.items)]
    listed += [[_of(other, item) for item in answer.items] for other, answer in sound]
    items = list(merge(*listed, key=lambda item: searching.rank(item, own.query)))
    subjects = next((a.subjects for a in (own, *(answer for _, answer in sound)) if a.found), ())
    total = own.total + sum(answer.total for _, answer in sound)
    return replace(own, subjects=subjects, items=tuple(items[:limit]), total=total, error="")


def _placed(item: Item, view: View, others: Others) -> Item:
    """An external reference with its place in the tree of that framework, where one is given."""
    user = next((other.view for other in others.roots if other.root == item.root), view)
    base = base_of(user.rules.bases, item.symbol)
    if item.root and base in others.names:
        home, root = view, ""
    else:
        other = others.base(base)
        if other is None:
            return item
        home, root = other.view, other.root
    place = place_in(home, item.symbol)
    if place is None:
        return item
    return replace(
        item,
        operator=place.operator,
        declared_file=place.file,
        declared_line=place.line,
        declared_root=root,
    )


# -- a base's answer


def _from_base(view: View, own: Answer, name: str, focus: tracing.Focus, others: Others) -> Answer:
    bases = view.rules.bases
    belongs = base_of(bases, own.query.strip())
    # The framework whose name it bears first; a bare name may be of any.
    ordered = sorted(bases, key=lambda base: base != belongs)
    nearest = own.nearest
    for base in ordered:
        other = others.base(base)
        if other is None:
            continue
        found = tracing.trace(other.view, name, focus)
        if found.found:
            mine = [i for s in found.subjects for i in _registered(view, s, focus)]
            return replace(
                own,
                subjects=tuple(replace(subject, root=other.root) for subject in found.subjects),
                items=(*(_of(other, item) for item in found.items), *mine),
                total=found.total + len(mine),
                nearest=(),
                wants=tuple(ordered),
            )
        if base == belongs:
            nearest = found.nearest or nearest
    note = f"{belongs} has such names, and no tree of it is known: `init` remembers one, --base gives one"
    return replace(
        own,
        nearest=nearest,
        wants=tuple(ordered),
        notes=(note,) if belongs in others.unknown else (),
    )


def _registered(view: View, subject: Subject, focus: tracing.Focus) -> tuple[Item, ...]:
    """What a tree that does not declare an operator registers for it all the same."""
    if subject.kind != "operator" or not subject.answered:
        return ()
    packet = packet_and_overload(subject.name)[0]
    family = operators.family(view, packet)
    return tracing.trace(view, packet, focus).items if family is not None and not family.entries else ()


def _declared_in_base(view: View, answer: Answer, focus: tracing.Focus, others: Others) -> Answer:
    """The answer with what the bases have of those operators that the tree registers kernels for and does
    not declare: `aten::mm` in an extension that replaces it for one device."""
    wants = dict.fromkeys(answer.wants)
    subjects, items = [], list(answer.items)
    for subject in answer.subjects:
        if _registered(view, subject, focus):
            wants.update(dict.fromkeys(view.rules.bases))
            for other in filter(None, map(others.base, view.rules.bases)):
                found = tracing.trace(other.view, subject.name, focus)
                operator = next((s for s in found.subjects if s.kind == "operator" and s.answered), None)
                if operator is not None:
                    subject = replace(operator, root=other.root)
                    items.extend(_of(other, item) for item in found.items)
                    break
        subjects.append(subject)
    return replace(
        answer,
        subjects=tuple(subjects),
        items=tuple(items),
        total=answer.total + len(items) - len(answer.items),
        wants=tuple(base for base in view.rules.bases if base in wants),
    )


def _with_kernels(view: View, answer: Answer, focus: tracing.Focus, others: Others) -> Answer:
    """The answer with what other trees than those asked so far register for its operators."""
    items = [
        _of(other, item)
        for subject in answer.subjects
        for other in others.roots
        if not other.base
        for item in _registered(other.view, subject, focus)
    ]
    return replace(answer, items=(*answer.items, *items), total=answer.total + len(items))


def _of(other: Other, item: Item) -> Item:
    """An item of another tree's answer, with its root."""
    return replace(item, root=other.root, declared_root=other.root if item.declared_file else "")


# -- what a function takes from its bases


def _joined(view: View, answer: Answer, others: Others) -> Answer:
    """The answer with what its Python functions and aliases take from the bases, each name with its
    place there, and the kernels of the operators among them."""
    wants: dict[str, None] = {}
    found: list[Item] = []
    for subject in answer.subjects if view.rules.bases else ():
        if subject.answered and subject.kind in ("Python function", "Python alias"):
            taken = list(_taken(view, subject))[:MOST_JOINED]
            wants.update((base, None) for base, _, _ in taken)
            found.extend(_joined_items(view, subject, taken, others))
    wanted = tuple(base for base in view.rules.bases if base in wants)
    return replace(answer, items=(*answer.items, *found), total=answer.total + len(found), wants=wanted)


def _taken(view: View, subject: Subject) -> Iterator[tuple[str, str, Item]]:
    """The names of a framework that a Python function's body calls, or that an alias stands for:
    framework, name, first place."""
    seen: set[str] = set()
    for number in subject.ids:
        definition = view.definition(number)
        if definition is None or definition.file.language != "python":
            continue
        alias = definition.fact.kind == "alias"
        for reference in view.targets(definition) if alias else view.inside(definition):
            fact = reference.fact
            if fact.kind != ("target" if alias else "call") or fact.name in seen:
                continue
            seen.add(fact.name)
            base = base_of(view.rules.bases, fact.name)
            # An operator that this tree registers is its own, though its name begins with torch.ops.
            if base and not _is_own(view, fact.name):
                note = f"{'as' if alias else 'called by'} {definition.fact.name}"
                place = definition.file.path, fact.line
                yield base, fact.name, Item("external", fact.name, *place, "declared", kind="use", note=note)


def _is_own(view: View, name: str) -> bool:
    return bool(wrappers.spelled(view, name) or python_names.resolve(view, name).ends)


def _joined_items(
    view: View, subject: Subject, taken: list[tuple[str, str, Item]], others: Others
) -> Iterator[Item]:
    listed: dict[str, None] = {}
    for base, name, item in taken:
        other = others.base(base)
        place = place_in(other.view, name) if other is not None else None
        if other is None or place is None:
            continue
        yield replace(
            item,
            operator=place.operator,
            declared_file=place.file,
            declared_line=place.line,
            declared_root=other.root,
        )
        if not place.operator or place.operator in listed or len(listed) >= MOST_OPERATORS:
            continue
        listed.setdefault(place.operator)
        family = operators.family(other.view, place.operator)
        if family is not None:
            through = f"{subject.name} > {family.name}"
            for kernel in kernel_items(other.view, family, frozenset(family.overloads)):
                yield with_through(_of(other, kernel), through)


# -- all roots


def _with_uses(view: View, answer: Answer, others: Others, most: int) -> Answer:
    """The answer with the uses of its subjects in the trees that depend on theirs."""
    counted = []
    items: list[Item] = []
    for root, subjects in _by_root(answer).items():
        home = next((other for other in others.roots if other.root == root), None)
        names = others.names if home is None else (home.base,)
        users = [Other("", view), *others.roots] if home is not None else list(others.roots)
        for user in users:
            if user.root != root:
                target = view if home is None else home.view
                used = uses(target, subjects, names, user.view, user.root, most=most)
                if used is not None:
                    counted.append(used.counted)
                    items.extend(used.items)
    unshown = sum(count.places - count.shown for count in counted)
    return replace(
        answer,
        items=(*answer.items, *items),
        total=answer.total + len(items) + unshown,
        uses=tuple(counted),
    )


def _by_root(answer: Answer) -> dict[str, list[Subject]]:
    found: dict[str, list[Subject]] = {}
    for subject in answer.subjects:
        if subject.answered:
            found.setdefault(subject.root, []).append(subject)
    return found
