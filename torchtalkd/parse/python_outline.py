"""The frame of a Python file: definitions with their scopes, and what its names mean. Pure.

One walk over the structural matches, in document order. The enclosing definition is found by
a stack of end bytes; asking a node for its parent would cost more than all the rest.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Final, NamedTuple

from tree_sitter import Node

from torchtalkd import keys
from torchtalkd.facts import Definition, Kind, Reference
from torchtalkd.parse.python_names import (
    Names,
    canonical,
    imported_module,
    is_operators,
    key_of,
)
from torchtalkd.parse.python_tree import Pattern, Tree

_PARAMETER = re.compile(rb"(?:^\(|,)[\s*]*([A-Za-z_\x80-\xff][\w\x80-\xff]*)")
_TEXTS = re.compile(rb"#[^\n]*|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'")
_BRACKETS = re.compile(rb"\[[^\[\](){}]*\]|\([^\[\](){}]*\)|\{[^\[\](){}]*\}")
_DEEPEST = 30
"""Brackets within each other in a parameter list; no reader gets through more."""
_SPACE = re.compile(r"\s+")
_BLANK = re.compile(rb"\s")
CHAIN = re.compile(rb"[A-Za-z_\x80-\xff][\w\x80-\xff]*(?:\s*\.\s*[A-Za-z_\x80-\xff][\w\x80-\xff]*)*")
"""A dotted name, white space around the dots included."""
_PYTHON_2 = re.compile(rb"(?:print|exec)[ \t]+[^\s=(.,:)\]]")
_LONGEST_SIGNATURE = 4_000
_IMPORT, _STAR, _OLD = int(Pattern.IMPORT), int(Pattern.STAR), int(Pattern.OLD)
"""An attribute of an enum takes longer to look up."""
_refer: Final = partial(tuple.__new__, Reference)
_definition: Final = partial(tuple.__new__, Definition)
"""A Reference and a Definition of all their fields; by their own names they would cost twice the time."""
assert Definition._fields[7:] == (
    "declares", "local", "signature", "dispatch_key", "convention", "guard", "detail", "body"
), "the tuples below name all fields of a Definition, in this order"  # fmt: skip


class Assigned(NamedTuple):
    """A name bound by an assignment in a module's or class's body."""

    name: Node
    owner: int


@dataclass(slots=True)
class Outline:
    """What the structural matches say; the rest of the file is read against it."""

    data: bytes
    module: str
    package: str
    definitions: list[Definition]
    names: Names = field(default_factory=Names)
    references: list[Reference] = field(default_factory=list)
    changes: list[int] = field(default_factory=list)
    """Bytes at which the enclosing definition changes, ascending…"""
    owners: list[int] = field(default_factory=list)
    """…and the ordinal that holds from there on."""
    by_start: dict[int, int] = field(default_factory=dict)
    """First byte of a definition's name → its ordinal."""
    classes: list[tuple[int, Node]] = field(default_factory=list)
    """The classes, by their ordinals."""
    assigned: list[Assigned] = field(default_factory=list)
    exports: list[Node] = field(default_factory=list)
    """Names `__all__` that are assigned or added to."""
    added: list[Node] = field(default_factory=list)
    """Other names of the module that are added to: `op_db += more`."""
    decorators: dict[int, list[Node]] = field(default_factory=dict)
    """Ordinal → the expressions that decorate it."""
    entry_lists: set[str] = field(default_factory=set)
    """The variables that hold entries of test lists (`python_tests`)."""
    root: Node | None = None
    """The whole file."""
    python_2: int = 0
    """The line (from 1) of the first statement that only Python 2 has; 0: none."""
    constants: dict[bytes, Node] | None = None
    """Names of the module that are assigned text or a list, read when first asked for
    (`python_static`)."""
    told: set[int] = field(default_factory=set)
    """First bytes of names that have their reference already: bases, targets, launches."""

    def text(self, node: Node) -> str:
        """The node's text."""
        return self.data[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def resolve(self, chain: bytes, owner: int) -> str:
        """A dotted name's full name by this file's names; '' when its root is not known."""
        root, dot, rest = chain.partition(b".")
        root = root.strip()
        names = self.names
        base: str | None
        inside = names.scoped.get(owner)
        if inside and root in inside:
            base = inside[root]
        elif root in names.local:
            base = self.local(root, owner)
        else:
            base = names.top.get(root)
        if not base:
            return ""
        if not dot:
            return base
        name = rest.decode("utf-8", "replace")
        if not name.isidentifier() and _BLANK.search(rest):
            name = _SPACE.sub("", name)
        return canonical(f"{base}.{name}")

    def local(self, name: bytes, owner: int) -> str | None:
        """What a name means in a function: its own, then its callers' around it, then the module's."""
        scoped, definitions, scope = self.names.scoped, self.definitions, owner
        while scope > 0:
            inside = scoped.get(scope)
            if inside and name in inside and (scope == owner or definitions[scope].kind != "class"):
                return inside[name]
            scope = definitions[scope].scope
        return self.names.top.get(name)


def outline(tree: Tree, data: bytes, module: str, package: str, is_test: bool) -> Outline:
    """The outline of one file; `python_uses` reads the matches that are left."""
    lines = data.count(b"\n") + (not data.endswith(b"\n"))
    out = Outline(data, module, package, [Definition(keys.py(module), module, "module", 1, 0, max(lines, 1))])
    out.root = tree.root
    stack: list[tuple[int, int]] = [(1 << 62, 0)]  # end byte, ordinal
    changes, owners = out.changes, out.owners
    changes.append(0)
    owners.append(0)
    waiting: list[Node] = []  # decorators of the next definition
    bound: list[tuple[bytes, int, Node]] = []
    parameters: list[tuple[int, bytes]] = []
    function, class_, bases, decorator, name_bound, augmented = (
        int(pattern)
        for pattern in (
            Pattern.FUNCTION,
            Pattern.CLASS,
            Pattern.BASES,
            Pattern.DECORATOR,
            Pattern.BOUND,
            Pattern.AUGMENTED,
        )
    )
    end, owner = stack[-1]
    for index, captured in tree.matches:
        if index > augmented:
            continue
        if index <= bases:
            node = captured["b"][0]
        elif index == decorator:
            node = captured["d"][0]
        else:
            node = captured["s" if index == _STAR else "n"][0]
        start = node.start_byte
        while start >= end:
            stack.pop()
            changes.append(end)
            end, owner = stack[-1]
            owners.append(owner)
        if index == name_bound:
            bound.append((data[start : node.end_byte], owner, node))
        elif index <= class_:
            name = captured["n"][0]
            first = name.start_byte
            if first in out.by_start:
                continue
            signature = b""
            if index == function:
                list_ = captured["p"][0]
                signature = data[list_.start_byte : list_.end_byte]
                if signature not in (b"()", b"(self)"):
                    parameters.append((len(out.definitions), signature))
            ordinal = _define(out, "class" if index == class_ else "function", name, node, owner, signature)
            if index == class_:
                out.classes.append((ordinal, node))
            if waiting:
                out.decorators[ordinal] = waiting
                waiting = []
            end, owner = min(tree.ends.get(first, node.end_byte), end), ordinal
            stack.append((end, owner))
            changes.append(start)
            owners.append(owner)
        elif index == decorator:
            waiting.append(node)
        elif index == bases:
            _read_bases(out, node, owner)
        elif index == augmented:
            if owner == 0:
                (out.exports if data[start : node.end_byte] == b"__all__" else out.added).append(node)
        elif index == _OLD:
            if not out.python_2 and _PYTHON_2.match(data, start):
                out.python_2 = node.start_point[0] + 1
        else:
            _read_import(out, index, captured, owner, is_test)
    while len(stack) > 1:
        changes.append(stack.pop()[0])
        owners.append(stack[-1][1])
    changes.append(1 << 63)
    _hide(out, parameters, bound)
    return out


def _define(out: Outline, kind: Kind, name: Node, node: Node, owner: int, parameters: bytes) -> int:
    """Add a function or class; its ordinal."""
    first = name.start_byte
    text = out.data[first : name.end_byte]
    last = text.decode("utf-8", "replace")
    around = out.definitions[owner]
    full = f"{around.name}.{last}"
    signature = parameters[:_LONGEST_SIGNATURE].decode("utf-8", "replace")
    if "\n" in signature or "  " in signature:
        signature = _SPACE.sub(" ", signature)
    row, column = name.start_point
    ordinal = len(out.definitions)
    fields = (
        keys.py(last), full, kind, row + 1, column, node.end_point[0] + 1, owner,
        False, False, signature, "", "", "", None, 0,
    )  # fmt: skip
    out.definitions.append(_definition(fields))
    out.by_start[first] = ordinal
    if owner == 0:
        out.names.top[text] = full
    elif around.kind == "class":
        out.names.member(owner, text, full)
    else:
        out.names.bind(owner, text, full)
    return ordinal


@lru_cache(maxsize=10_000)
def _names_in(parameters: bytes) -> frozenset[bytes]:
    """What stands where names of parameters may; the same lists stand in many files."""
    return frozenset(_PARAMETER.findall(parameters))


def _flat(parameters: bytes) -> bytes:
    """A parameter list without its comments, texts, and all that stands in brackets within it."""
    text = _TEXTS.sub(b"", parameters[1:])
    for _ in range(_DEEPEST):
        text, count = _BRACKETS.subn(b"", text)
        if not count:
            break
    return parameters[:1] + text


def _hide(out: Outline, parameters: list[tuple[int, bytes]], bound: list[tuple[bytes, int, Node]]) -> None:
    # Only now all names of the module are known: those of a function that are equal hide them.
    names, definitions, data = out.names, out.definitions, out.data
    known = names.top.keys() | names.local
    has_operators = b"ops" in data
    functions = {ordinal for ordinal, d in enumerate(definitions) if d.kind == "function"}
    for ordinal, text in parameters:
        hidden = known.intersection(_names_in(text))
        if hidden:
            # Behind a comma in brackets or quotes stands no parameter: `x: dict[str, torch.Tensor]`.
            hidden = known.intersection(_PARAMETER.findall(_flat(text)))
        for name in hidden:
            names.bind(ordinal, name, None)
    for text, owner, node in bound:
        if owner not in functions:
            if text == b"__all__" and owner == 0:
                out.exports.append(node)
            elif (parent := node.parent) is not None and parent.type == "assignment":
                out.assigned.append(Assigned(node, owner))
            continue
        if (
            has_operators
            and b"ops" in data[node.end_byte : node.end_byte + 80]
            and _bind_operators(out, text, owner, node)
        ):
            continue
        if text in known:
            inside = names.scoped.get(owner)
            if not inside or text not in inside:
                names.bind(owner, text, None)


def _bind_operators(out: Outline, text: bytes, owner: int, name: Node) -> bool:
    """Follow `aten = torch.ops.aten` in a function."""
    value = name.next_named_sibling
    if value is None or value.type != "attribute":
        return False
    meaning = out.resolve(out.data[value.start_byte : value.end_byte], owner)
    if not is_operators(meaning):
        return False
    out.names.bind(owner, text, meaning)
    return True


def _read_bases(out: Outline, bases: Node, owner: int) -> None:
    for base in bases.named_children:
        if base.type == "subscript":
            base = base.child_by_field_name("value") or base
        if base.type not in ("identifier", "attribute"):
            continue
        text = out.data[base.start_byte : base.end_byte]
        if not CHAIN.fullmatch(text):
            continue
        # The class itself is the innermost definition here; its bases are looked up around it.
        name = out.resolve(text, out.definitions[owner].scope) or _SPACE.sub(
            "", text.decode("utf-8", "replace")
        )
        row, column = base.start_point
        out.references.append(_refer((key_of(name), name, "base", row + 1, column, owner, -1)))
        out.told.add(base.start_byte)


def _read_import(
    out: Outline, index: int, captured: dict[str, list[Node]], owner: int, is_test: bool
) -> None:
    names, data = out.names, out.data
    module, package = b"", ""
    if index != _IMPORT:
        module_node = captured["m"][0]
        module = data[module_node.start_byte : module_node.end_byte]
        package = out.package if module[:1] == b"." else ""
    if index == _STAR:
        row, column = captured["s"][0].start_point
        names.star = True
        around = imported_module(_tight(module.decode("utf-8", "replace")), package)
        out.references.append(Reference(keys.py(around), around, "star", row + 1, column, owner))
        return
    node = captured["n"][0]
    key, full, local, is_renamed = _imported(module, data[node.start_byte : node.end_byte], package)
    row, column = node.start_point
    is_alias = owner == 0 and index != _IMPORT and not is_test
    if not is_alias:  # What an alias is to be found by is its target.
        out.references.append(_refer((key, full, "import", row + 1, column, owner, -1)))
    meaning = full
    if index == _IMPORT and not is_renamed:
        local = meaning = local.partition(".")[0]
    name = local.encode()
    if owner == 0:
        names.top[name] = meaning
        if index == _IMPORT:
            names.modules.add(name)
        elif is_alias:
            mine = f"{out.module}.{local}"
            out.references.append(_refer((key, full, "target", row + 1, column, len(out.definitions), -1)))
            if is_renamed:
                row, column = (node.child_by_field_name("alias") or node).start_point
            fields = (
                keys.py(local), mine, "alias", row + 1, column, row + 1, 0,
                False, False, "", "", "", "", {"import": True}, 0,
            )  # fmt: skip
            out.definitions.append(_definition(fields))
    elif out.definitions[owner].kind == "class":
        names.member(owner, name, meaning)
    else:
        names.bind(owner, name, meaning)


@lru_cache(maxsize=20_000)
def _imported(module: bytes, written: bytes, package: str) -> tuple[str, str, str, bool]:
    """What an import says, from its text: the key and the full name of what is imported, the name that it has
    here, and whether that is another one. Files import the same things over and over."""
    around = imported_module(_tight(module.decode("utf-8", "replace")), package)
    name, as_, local = written.decode("utf-8", "replace").partition(" as ")
    name = _tight(name)
    full = canonical(f"{around}.{name}" if around else name)
    # Behind `as` a line may end, and a comment stand.
    return key_of(full), full, (local.split() or [""])[-1] if as_ else name, bool(as_)


def _tight(text: str) -> str:
    """A dotted name without the white space that may stand in it."""
    return text if text.isidentifier() else "".join(text.split())
