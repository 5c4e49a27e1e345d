"""Where a Python file uses names: calls, values, launches. Pure.

The hot loop of the parser: PyTorch has 600,000 calls. What a written name means is worked out
once a file, unless a function or class has a name of its own that hides the module's.
"""

from __future__ import annotations

import builtins
import re
from collections.abc import Callable
from functools import partial
from typing import Final, NamedTuple

from tree_sitter import Node

from torchtalkd import keys
from torchtalkd.facts import Reference, ReferenceKind
from torchtalkd.parse.python_getattr import CALLEE, looked_up
from torchtalkd.parse.python_held import ASSIGNS, BEFORE, held
from torchtalkd.parse.python_launches import held_kernels
from torchtalkd.parse.python_names import key_of
from torchtalkd.parse.python_outline import CHAIN, Outline
from torchtalkd.parse.python_tree import Match, Pattern

_BUILTINS: Final = frozenset(name.encode() for name in dir(builtins))
_SELF: Final = (b"self", b"cls")
_OWN: Final = (*_SELF, b"super()")
"""Receivers whose methods are told from those of others."""
_SUPER: Final = re.compile(rb"super\([^()]*\)\.\w+")
_LAST_NAME: Final = re.compile(rb"[A-Za-z_\x80-\xff][\w\x80-\xff]*\Z")
_QUOTES: Final = (b'"', b"'")
_MOST_KEPT: Final = 200_000
_LONGEST_KEPT: Final = 80
_LONGEST_READ: Final = 400
"""Of a callee's text; of a longer one (a chain of calls) only the last name is read, so that
a chain of 10,000 calls does not cost 10,000 copies of itself."""


class Use(NamedTuple):
    """What a callee means."""

    key: str
    """'' when nothing is known about it: then there is no reference."""
    name: str
    kind: ReferenceKind
    binds: str
    """The last component that a convention knows as a binding; '' for others."""
    width: int
    """Bytes from the written name to the end of the callee; 0: the callee's own begin counts."""


class BindingCall(NamedTuple):
    """A call, or a decorator without arguments, that a convention may read as a binding."""

    callee: Node
    owner: int
    last: str


class Wanted:
    """Which last components may be bindings, and what methods of unknown receivers mean.

    The latter depends on the name alone, so it is kept from file to file.
    """

    def __init__(self, binds: Callable[[str], bool]) -> None:
        self.binds = binds
        self.plain: dict[bytes, Use] = {}
        self.methods: dict[bytes, Use] = {}
        self.own: dict[bytes, Use] = {}
        self.known: dict[tuple[str, bytes], Use] = {}
        """By what the root of a dotted name stands for, and the rest of it."""

    def trim(self) -> None:
        """Forget what is kept when it is much: a process may live long."""
        for kept in (self.plain, self.methods, self.own, self.known):
            if len(kept) > _MOST_KEPT:
                kept.clear()

    def of_unknown(self, root: bytes, rest: bytes) -> Use | None:
        """What is kept about a dotted name whose root means nothing in its file; None: work it out."""
        last = rest[rest.rfind(b".") + 1 :]
        if len(last) == len(rest):
            if root == b"self":
                return self.own.get(last)
            if root in _OWN:
                return None
        if root.startswith(b"super("):
            return None
        return None if root[:1] in _QUOTES else self.methods.get(last)

    def nobody(self, name: bytes) -> Use:
        """A plain name that means nothing in its file: a builtin or a local variable."""
        use = self.plain.get(name)
        if use is None:
            written = name.decode("utf-8", "replace")
            use = self.plain[name] = Use("", "", "call", written if self.binds(written) else "", 0)
        return use

    def method(self, last: bytes, receiver: str) -> Use:
        """A method of an unknown receiver, or of `self` or `super()`."""
        name = last.decode("utf-8", "replace")
        binds = name if self.binds(name) else ""
        # `self.f` stands at self; of `x.g(y).f` it is the f that is looked for.
        width = len(last) + (5 if receiver == "self." else 0)
        use = _use((keys.attr(name), receiver + name, "method", binds, width))
        if not receiver:
            self.methods[last] = use
        elif receiver == "self.":
            self.own[last] = use
        return use


_NOTHING: Final = Use("", "", "call", "", 0)
_use: Final = partial(tuple.__new__, Use)
"""A Use of all its fields; by its own name it would cost thrice the time."""


def read_uses(out: Outline, matches: list[Match], wanted: Wanted) -> list[BindingCall]:
    """Add the file's uses to `out.references`; return the calls that may be bindings."""
    data, names, told, definitions = out.data, out.names, out.told, out.definitions
    top, local, star = names.top, names.local, names.star
    add, make = out.references.append, partial(tuple.__new__, Reference)
    known = wanted.known
    kept: dict[bytes, Use] = {}
    values: dict[bytes, tuple[str, str]] = {}
    bindings: list[BindingCall] = []
    holds: list[Reference] = []
    changes, owners = out.changes, out.owners
    place, owner, change = 0, 0, out.changes[1]
    no_members: dict[bytes, str | None] = {}
    members = no_members  # The names of the class whose body this is: they are seen nowhere else.
    call, launch, value = int(Pattern.CALL), int(Pattern.LAUNCH), int(Pattern.VALUE)
    argument, meaningful = int(Pattern.ARGUMENT), top.keys() | local
    is_chain = CHAIN.fullmatch
    for index, captured in matches:
        if index < call:
            continue  # the outline has read it
        if index >= value:
            node = captured["v"][0]
            start = node.start_byte
            text = data[start : node.end_byte]
            base = text if index == argument else text.partition(b".")[0]
            if base not in meaningful or start in told:
                continue
        else:
            node = captured["c"][0]
            start = node.start_byte
        while start >= change:
            place += 1
            owner, change = owners[place], changes[place + 1]
            members = no_members
            if definitions[owner].kind == "class":
                members = names.scoped.get(owner, no_members)

        if index >= value:
            meaning = None if base in members else values.get(text)
            if meaning is None:
                name = out.resolve(text, owner) if is_chain(text) else ""
                meaning = (key_of(name), name) if name else ("", "")
                if base not in local and base not in members:
                    values[text] = meaning
            if meaning[0]:
                row, column = node.start_point
                add(make((meaning[0], meaning[1], "address", row + 1, column, owner, -1)))
            continue

        end = node.end_byte
        text = data[start:end]
        if index == launch:
            name = out.resolve(text, owner) if is_chain(text) else ""
            for kernel in [name] if name else held_kernels(out, text, owner, start):
                row, column = node.start_point
                add(make((key_of(kernel), kernel, "launch", row + 1, column, owner, -1)))
                told.add(start)
            if name:
                holds += held(out, node, owner)
            continue
        if end - start > _LONGEST_READ:
            text = b"()" + data[end - _LONGEST_READ : end]
        if text == CALLEE:
            row, column = node.start_point
            for found in looked_up(out, node, owner):
                add(make((found.key, found.name, "method", row + 1, column, owner, -1)))
        use = None if members else kept.get(text)
        if use is None:
            if text[:1] == b"*":
                # In `return a, *f(x)` the grammar takes `*f` for what is called.
                called = text.lstrip(b"* \t")
                starred = _understood(out, called, owner, wanted)
                if starred.binds:
                    bindings.append(BindingCall(node, owner, starred.binds))
                if starred.key:
                    row, column = node.end_point
                    column -= starred.width or len(called)
                    add(make((starred.key, starred.name, starred.kind, row + 1, column, owner, -1)))
                continue
            root, dot, rest = text.partition(b".")
            root = root.rstrip()
            is_local = root in local
            base_name = out.local(root, owner) if is_local else top.get(root)
            if root in members:
                use = _understood(out, text, owner, wanted)
            elif base_name:
                # What it means depends on what the root stands for alone: the same in all files. (Of a
                # plain name also on how it is written here.)
                meant = (base_name, rest) if dot else (base_name, b"." + text)
                use = known.get(meant)
                if use is None:
                    use = _understood(out, text, owner, wanted)
                    if len(text) <= _LONGEST_KEPT:
                        known[meant] = use
            elif dot:
                use = wanted.of_unknown(root, rest) or _understood(out, text, owner, wanted)
            else:
                use = _understood(out, text, owner, wanted) if star else wanted.nobody(text)
            if not is_local and root not in members:
                kept[text] = use
        key, name, kind, binds, width = use
        if binds:
            bindings.append(BindingCall(node, owner, binds))
        if key:
            if width:
                row, column = node.end_point
                column -= width
            else:
                row, column = node.start_point
                before = data[start - 1]
                if before == ASSIGNS or (before in BEFORE and data[start - 2] in BEFORE):
                    holds += held(out, node, owner)
            add(make((key, name, kind, row + 1, column, owner, -1)))
    out.references += holds
    wanted.trim()
    return bindings


def _understood(out: Outline, text: bytes, owner: int, wanted: Wanted) -> Use:
    """What a callee means."""
    root, dot, rest = text.partition(b".")
    root = root.rstrip()
    if not dot or CHAIN.fullmatch(text):
        last = text.rpartition(b".")[2].strip()
        written = last.decode("utf-8", "replace")
        name = out.resolve(text, owner)
        if name:
            final = name.rpartition(".")[2]
            binds = final if wanted.binds(final) else written if wanted.binds(written) else ""
            return _use((key_of(name), name, "call", binds, 0))
        if not dot:
            # With a star import in the file, a name of nobody may come from there.
            if out.names.star and root not in _BUILTINS and root not in out.names.local:
                return Use(keys.py(written), written, "call", written if wanted.binds(written) else "", 0)
            return wanted.nobody(root)
        if root in _SELF and b"." not in rest:
            return wanted.method(last, "self.")._replace(width=len(text))
        return wanted.method(last, "")
    found = _LAST_NAME.search(text)
    if found is None or text[:1] in _QUOTES:
        return _NOTHING
    return wanted.method(found[0], "super()." if _SUPER.fullmatch(text) else "")
