"""What the macros of a file make: here, by expanding their uses; elsewhere, by templates.

`add_expansions` reads the text that uses of this file's own macros expand to, and gives what
it defines the use's place. `add_macros` adds each macro as a Definition; where its body would
define or register something, `detail.makes` lists it as
`[kind, name, dispatch key, [targets]]` with `{0}`, `{1}` for the arguments, `{library}` and
`{dispatch_key}` for the block that the use stands in.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from tree_sitter import Parser

from torchtalkd import keys
from torchtalkd.facts import BINDING_KINDS
from torchtalkd.parse.collector import DISPATCH_KEY_HOLE, LIBRARY_HOLE, Collector, Library, Scope
from torchtalkd.parse.cpp_hidden_uses import handed_on
from torchtalkd.parse.cpp_text import Directives, Macro, Text, blanked, directives
from torchtalkd.parse.cpp_walk import LANGUAGES, Chunk, walk
from torchtalkd.parse.macros import expand, substitute

_PARSERS: Final = {name: Parser(language) for name, language in LANGUAGES.items()}
_FAR: Final = 1 << 62
_MAX_BODY: Final = 4000
"""Characters of a macro's body that are kept."""
_MAX_TEXT: Final = 2_000_000
"""Bytes of expanded text a file may make; uses past it are left as they are."""
_SOURCES: Final = (".cpp", ".cc", ".c", ".cxx", ".cu", ".mm", ".metal", ".hip")
_HOLE = re.compile(r"tt_hole_(\d+)_")
_LAST_NAME: Final = re.compile(r"[A-Za-z_][\w:]*$")
_CALLEE = re.compile(r"([A-Za-z_](?<!\w.)\w*+(?:::[A-Za-z_]\w*+)*+)\s*+(?:<[^<>(){};]*+>\s*+)?\(")
_HEAD = re.compile(r"([A-Za-z_]\w*)\s*\(")
"""What the body of a macro that is another one with some arguments begins with."""
_NO_CALLEES: Final = frozenset(
    {"if", "for", "while", "switch", "return", "sizeof", "defined", "decltype", "catch", "static_cast"}
)
_FUNCTIONS: Final = ("function", "kernel")
_MAKING: Final = frozenset(
    {
        "function",
        "kernel",
        "structured_meta",
        "structured_impl",
        "stub",
        "stub_kernel",
        "registration",
        "schema",
    }
    | {"python_binding", "macro_use"}
)


def add_expansions(collector: Collector, grammar: str) -> None:
    """Expand every noted use and add what it makes, at the use's place."""
    if not collector.uses:
        return
    texts: list[str] = []
    chunks: list[Chunk] = []
    owners: list[int] = []
    length = 0
    for use in collector.uses:
        text = expand(use.text, collector.macros)
        if use.body_owner:
            text += " {}"
        text = _closed(text, collector, use.body_owner != 0)
        if length + len(text) > _MAX_TEXT or not _balanced(text):
            continue
        around = _outer(use.ordinal)
        scope = Scope(_FAR, use.prefix, around, use.library is not None, local=use.local, library=use.library)
        chunks.append((length, scope, collector.text.place(use.offset), use.name))
        owners.append(use.body_owner)
        texts.append(text)
        length += len(text.encode("utf-8", "replace"))
    made = _read(collector, "".join(texts), chunks, grammar)
    _join(
        collector,
        made,
        {chunk[2]: owner for chunk, owner in zip(chunks, owners, strict=True) if owner and chunk[2]},
    )


def add_macros(collector: Collector, lines: Directives, grammar: str) -> None:
    """Add a Definition for each macro; of a function-like one, what it calls and what it would make."""
    own = [macro for macro in lines.macros if macro.parameters is not None]
    _add_constants(collector, lines)
    if not own:
        return
    # A macro of a source file is used there alone, and its uses are expanded.
    makes = _templates(collector, own, grammar) if not collector.path.endswith(_SOURCES) else {}
    for number, macro in enumerate(own):
        parameters = list(macro.parameters or ())
        detail: dict[str, object] = {"parameters": parameters, "body": macro.body[:_MAX_BODY]}
        if number in makes:
            detail["makes"] = makes[number]
        ordinal = collector.define(
            "macro", keys.macro(macro.name), macro.name, macro.start, macro.end, detail=detail
        )
        for name in handed_on(collector, macro):
            collector.refer("address", keys.cpp(name), name, macro.start, ordinal)
        seen = set(parameters)
        for match in _CALLEE.finditer(macro.body):
            name = match.group(1)
            if name in seen or name in _NO_CALLEES:
                continue
            seen.add(name)
            if macro.body.endswith((".", "->"), 0, match.start()):
                collector.refer("method", keys.cpp(name), name, macro.start, ordinal)
            elif name.isupper():
                collector.refer("macro", keys.macro(name), name, macro.start, ordinal)
            else:
                collector.refer("call", keys.cpp(name), name, macro.start, ordinal)
        for name in _launched(macro.body):
            if name not in parameters:
                collector.refer("launch", keys.cpp(name), name, macro.start, ordinal)


def _launched(body: str) -> list[str]:
    """The names that a macro launches: `f<T><<<grid, block>>>(x)` is one of f."""
    found: dict[str, None] = {}
    for part in body.split("<<<")[:-1]:
        name = _LAST_NAME.search(keys.before_template_arguments(part))
        if name is not None:
            found.setdefault(name[0])
    return list(found)


def _add_constants(collector: Collector, lines: Directives) -> None:
    """The macros without parameters: what `GPU_LAMBDA` is, and the namespace that a name of one stands for.
    Of their uses nothing is noted: they would be a third of all words."""
    for macro in lines.macros:
        if macro.parameters is None:
            detail: dict[str, object] = {"parameters": [], "body": macro.body[:_MAX_BODY], "constant": True}
            collector.define(
                "macro", keys.macro(macro.name), macro.name, macro.start, macro.end, detail=detail
            )


def _templates(collector: Collector, own: list[Macro], grammar: str) -> dict[int, list[list[object]]]:
    """Number of a macro → what it would make."""
    promising = collector.spelling.making
    texts: list[str] = []
    chunks: list[Chunk] = []
    through = set[int]()
    length = 0
    for number, macro in enumerate(own):
        if macro.body.startswith(("do", "if", "for", "[", "(")):
            continue
        if not promising.search(macro.body):
            head = _HEAD.match(macro.body)
            if head is None or head.group(1) not in collector.macros:
                continue
            through.add(number)
        holes = [f"tt_hole_{index}_" for index in range(len(macro.parameters or ()))]
        text = substitute(macro, holes)
        text = expand(text, collector.macros, frozenset({macro.name}))
        if not promising.search(text):
            continue
        text = _closed(text, collector, False)
        if length + len(text) > _MAX_TEXT or not _balanced(text):
            continue
        library = Library("", LIBRARY_HOLE, DISPATCH_KEY_HOLE)
        chunks.append((length, Scope(_FAR, "", -1, False, library=library), (number, 0), macro.name))
        texts.append(text)
        length += len(text.encode("utf-8", "replace"))
    made = _read(collector, "".join(texts), chunks, grammar)
    targets: dict[int, list[str]] = {}
    for reference in made.references:
        if reference.kind in ("target", "argument"):
            targets.setdefault(reference.owner, []).append(_HOLE.sub(r"{\1}", reference.name))
    found: dict[int, list[list[object]]] = {}
    for ordinal, definition in enumerate(made.definitions):
        if definition.kind not in _MAKING or definition.declares:
            continue
        if definition.line in through and definition.kind not in _FUNCTIONS:
            continue  # What it registers is found where it is used.
        around = made.definitions[definition.scope] if definition.scope >= 0 else None
        if around is not None and (around.kind != "class" or definition.kind != "function"):
            continue
        template: list[object] = [
            definition.kind,
            _HOLE.sub(r"{\1}", definition.name),
            _HOLE.sub(r"{\1}", definition.dispatch_key),
            targets.get(ordinal, []),
        ]
        if definition.kind == "macro_use":
            arguments = (definition.detail or {}).get("arguments", [])
            template[3] = [_HOLE.sub(r"{\1}", str(argument)) for argument in arguments]
        found.setdefault(definition.line, []).append(template)
    return found


def _closed(text: str, collector: Collector, has_body: bool) -> str:
    """The text as something whole: a head without body gets one, a call its semicolon."""
    text = text.rstrip()
    if has_body or not text.endswith(")"):
        return f"{text}\n;\n" if not text.endswith(("}", ";")) else text + "\n"
    last = text.rpartition("\n")[2].strip()
    head = last.partition("(")[0].split()
    shape = collector.spelling.shapes.get(head[-1]) if head else None
    is_head = (
        len(head) > 1
        if shape is None
        else shape.shape in ("structured", "torch_library", "pybind11", "gtest")
    )
    return text + (" {}\n" if is_head and "." not in "".join(head) else ";\n")


def _balanced(text: str) -> bool:
    return text.count("{") == text.count("}") and text.count("(") == text.count(")")


def _read(collector: Collector, text: str, chunks: list[Chunk], grammar: str) -> Collector:
    """Walk a text of chunks; macros of the file are not expanded again."""
    data = text.encode("utf-8", "replace")
    data = blanked(data, collector.spelling.blank_in(data), collector.spelling.blank_arguments)
    nothing: Mapping[str, Macro] = {}
    made = Collector(
        collector.path, collector.language, Text(data), collector.spelling, directives(b""), nothing
    )
    if chunks:
        walk(made, _PARSERS[grammar].parse(data).root_node, grammar, chunks)
    return made


def _join(into: Collector, made: Collector, bodies: dict[tuple[int, int], int]) -> None:
    """Append what the expansions made. References in the body behind a use that makes a function's
    head are given to that function."""
    base = len(into.definitions)
    owners: dict[int, int] = {}
    for ordinal, definition in enumerate(made.definitions):
        body = bodies.get((definition.line, definition.column))
        if body is not None and definition.kind not in ("macro_use", "class") and body not in owners:
            owners[body] = base + ordinal
        into.definitions.append(definition._replace(scope=_joined(definition.scope, base)))
    for reference in made.references:
        if reference.owner != -1:
            into.references.append(reference._replace(owner=_joined(reference.owner, base)))
        elif reference.kind in ("call", "launch", "address"):
            into.references.append(reference)
    if any(use.body_owner for use in into.uses):
        into.references[:] = [
            reference if reference.owner > -10 else reference._replace(owner=owners.get(reference.owner, -1))
            for reference in into.references
        ]


def _outer(ordinal: int) -> int:
    """An ordinal of the file, told apart from those of the expansions: -1 stays, n becomes -(n + 2)."""
    return -(ordinal + 2) if ordinal >= 0 else -1


def _joined(ordinal: int, base: int) -> int:
    """The ordinal in the file of one met in the expansions."""
    return base + ordinal if ordinal >= 0 else -(ordinal + 2) if ordinal <= -2 else -1


assert "macro_use" in BINDING_KINDS, "templates keep a macro use's arguments as its targets"
