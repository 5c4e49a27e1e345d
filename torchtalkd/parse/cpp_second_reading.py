"""Another reading of some stretches of a file, and how it joins what the first one has found.

Of what a reading leaves out the first one knows what it calls, so only the heads are read again.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final, NamedTuple

from tree_sitter import Parser, Range

from torchtalkd.facts import Reference
from torchtalkd.parse.collector import Collector
from torchtalkd.parse.cpp_skeleton import Body
from torchtalkd.parse.cpp_text import Text
from torchtalkd.parse.cpp_walk import LANGUAGES, Chunk, walk

Stretch = tuple[int, int]
"""Start and end of a piece of text."""

FUNCTIONS: Final = frozenset({"function", "kernel", "structured_impl", "structured_meta"})
"""Kinds of what has a body."""


class Again(NamedTuple):
    """What of a text is to be read again."""

    stretches: list[Stretch]
    """In order and apart."""
    scopes: list[Chunk]
    """Where pieces of the text begin, and the scopes around them; none where it is read as a whole."""
    left_out: list[Body]
    """Bodies that are not in the stretches."""


def read_again(collector: Collector, grammar: str, data: bytes, again: Again, repair: bool = False) -> None:
    """Add the definitions that are new in a text of the same lines; with `repair`, what it says of those
    that are known holds, and references without an owner go to the new functions around them."""
    parser = Parser(
        LANGUAGES[grammar],
        included_ranges=[_range(collector.text, *stretch) for stretch in again.stretches],
    )
    variant = _another(collector, data)
    walk(variant, parser.parse(data).root_node, grammar, again.scopes)
    before = len(collector.definitions)
    ordinals = _merge(collector, variant, repair)
    _take_calls(collector, variant, again, {other: own for other, own in ordinals.items() if own >= before})
    if not repair:
        return
    if not again.scopes:
        # Read as a whole: it knows the namespaces, in which macros are still to be read.
        scoped = dict(collector.scopes)
        for start, scope in variant.scopes:
            scoped[start] = replace(scope, ordinal=ordinals.get(scope.ordinal, -1))
        collector.scopes = sorted(scoped.items(), key=lambda item: (item[0], -item[1].end))
    added = [
        (definition.line, definition.end_line, ordinal)
        for ordinal, definition in enumerate(collector.definitions[before:], before)
        if definition.kind in FUNCTIONS and not definition.declares
    ]
    if added:
        collector.references[:] = [
            reference if reference.owner != -1 else _adopted(reference, added)
            for reference in collector.references
        ]


def _merge(into: Collector, other: Collector, repair: bool) -> dict[int, int]:
    """Add the definitions of another reading of the same file that are new, with their references.

    The same key and line is the same definition; with `repair` the other reading knows it better.
    Uses of macros are taken over alike. Returns the ordinals that the other's have got.
    """
    known = {(d.key, d.line, d.kind): number for number, d in enumerate(into.definitions)}
    ordinals = {-1: -1}
    new: set[int] = set()
    for ordinal, definition in enumerate(other.definitions):
        identity = (definition.key, definition.line, definition.kind)
        number = known.get(identity)
        if number is None:
            number = known[identity] = len(into.definitions)
            into.definitions.append(definition._replace(scope=ordinals.get(definition.scope, -1)))
            new.add(ordinal)
        elif repair:
            # What lost its way may have lost a namespace or gained one, and swallowed what follows.
            into.definitions[number] = definition._replace(scope=ordinals.get(definition.scope, -1))
        ordinals[ordinal] = number
    into.references.extend(
        reference._replace(owner=ordinals[reference.owner])
        for reference in other.references
        if reference.owner in new
    )
    places = {use.offset for use in into.uses}
    into.uses.extend(
        use._replace(ordinal=ordinals.get(use.ordinal, -1))
        for use in other.uses
        if use.offset not in places and use.body_owner == 0
    )
    return ordinals


def _take_calls(into: Collector, other: Collector, again: Again, new: dict[int, int]) -> None:
    """Give new functions whose bodies were left out what the first reading has found there, whatever it
    took them for. `new`: ordinals of the other reading → of this one."""
    left_out = {body.start for body in again.left_out} if new else ()
    takers = {
        into.bodies[start][1]: new[ordinal]
        for start, (_, ordinal) in other.bodies.items()
        if ordinal in new and start in left_out and start in into.bodies
    }
    if takers:
        into.references += [
            reference._replace(owner=takers[reference.owner])
            for reference in into.references
            if reference.owner in takers
        ]


def _adopted(reference: Reference, added: list[tuple[int, int, int]]) -> Reference:
    owner = next((ordinal for first, last, ordinal in added if first <= reference.line <= last), -1)
    return reference._replace(owner=owner) if owner >= 0 else reference


def _range(text: Text, start: int, end: int) -> Range:
    first, last = text.place(start), text.place(end)
    return Range((first[0] - 1, first[1]), (last[0] - 1, last[1]), start, end)


def _another(collector: Collector, data: bytes) -> Collector:
    """A collector for another reading of the same file."""
    return Collector(
        collector.path,
        collector.language,
        collector.text.with_data(data),
        collector.spelling,
        collector.directives,
        collector.macros,
    )
