"""An operator's schema string → its parts: `parse_schema`.

The language is that of native_functions.yaml (torchgen/model.py `FunctionSchema.parse`) and of
`m.def("…")` (torch/csrc/jit/frontend/function_schema_parser.cpp, schema_type_parser.cpp), which
has tuples, dictionaries and free white space beside it:

    aten::add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)
    ^namespace    ^type  ^name               ^all that follow are keyword-only  ^returns

Not here: whether the parts make sense together; C++ (see `native_signature`). Tests:
`tests/test_codegen.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal, NamedTuple, TypeAlias

from torchtalkd.keys import OperatorName, operator_name

MAX_DEPTH: Final = 32
"""Nesting of types; deeper ones are refused, so that no input can exhaust the stack."""

SchemaKind: TypeAlias = Literal["functional", "inplace", "out", "mutable", "scratch"]

_TOKEN = re.compile(
    r"\s*(?:(?P<arrow>->)|(?P<dots>\.\.\.)"
    r"|(?P<string>\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*')"
    r"|(?P<name>[A-Za-z_]\w*(?:(?:::|\.)[A-Za-z_0-9]\w*)*)"
    r"|(?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?j?)"
    r"|(?P<mark>[-()\[\]{}?!|*,=:<>]))",
    re.DOTALL,
)
_PARAMETRIC = frozenset(("Dict", "Future", "Await", "RRef", "Union"))
_DUNDER = re.compile(r"__([^_]+)__")
_AUGMENTED = frozenset(
    ["iadd", "isub", "imul", "idiv", "imod", "ipow", "ilshift", "irshift", "iand", "ixor", "ior"]
)


class SchemaError(ValueError):
    """Not a schema. `position` is the character (0-based) at which reading stopped."""

    def __init__(self, message: str, position: int) -> None:
        super().__init__(f"{message} at character {position}")
        self.position = position


class Alias(NamedTuple):
    """An alias annotation: `(a!)`, `(a|b)`, `(a -> *)`, or the bare `!` of `Tensor! x`."""

    before: tuple[str, ...]
    """Empty for a bare `!`: a set of its own."""
    write: bool
    after: tuple[str, ...] = ()

    def __str__(self) -> str:
        arrow = f" -> {'|'.join(self.after)}" if self.after else ""
        return "|".join(self.before) + ("!" if self.write else "") + arrow


@dataclass(frozen=True, slots=True)
class Type:
    """`Tensor?[]` is base Tensor with wrappers ("?", "[]"), innermost first."""

    base: str
    """Tensor, int, SymInt, `__torch__.torch.classes.x.Y`, Dict, Tuple, …"""
    wrappers: tuple[str, ...] = ()
    """`?`, `[]` or `[3]`."""
    parameters: tuple[Type, ...] = ()
    """Of Dict(str, Tensor), Future(t), and of a tuple."""

    def __str__(self) -> str:
        inner = f"({', '.join(map(str, self.parameters))})" if self.parameters else ""
        return ("" if self.base == "Tuple" else self.base) + inner + "".join(self.wrappers)

    @property
    def optional(self) -> bool:
        """Whether None is a value of it."""
        return self.wrappers[-1:] == ("?",)

    @property
    def unwrapped(self) -> Type:
        """The type inside the outermost `?` or `[]`."""
        return Type(self.base, self.wrappers[:-1], self.parameters)

    @property
    def tensor_like(self) -> bool:
        """A tensor, or a list or optional of tensors."""
        return self.base == "Tensor"


class Argument(NamedTuple):
    """One argument."""

    name: str
    type: Type
    default: str | None = None
    """As written, None if there is none."""
    alias: Alias | None = None
    keyword_only: bool = False

    @property
    def written(self) -> bool:
        """Whether the operator writes to it."""
        return self.alias is not None and self.alias.write

    def __str__(self) -> str:
        default = "" if self.default is None else f"={self.default}"
        return f"{_annotated(self.type, self.alias)} {self.name}{default}"


class Return(NamedTuple):
    """One value that comes back; name '' if it has none."""

    name: str
    type: Type
    alias: Alias | None = None

    @property
    def written(self) -> bool:
        """Whether it is an argument that was written to."""
        return self.alias is not None and self.alias.write

    def __str__(self) -> str:
        return _annotated(self.type, self.alias) + (f" {self.name}" if self.name else "")


@dataclass(frozen=True, slots=True)
class Schema:
    """A whole schema. `str()` gives it in torchgen's spelling."""

    name: OperatorName
    arguments: tuple[Argument, ...]
    """In the order of the text; the keyword-only ones are last."""
    returns: tuple[Return, ...]

    @property
    def out_arguments(self) -> tuple[Argument, ...]:
        """Keyword-only arguments that are written to: what makes an operator an out= variant."""
        return tuple(a for a in self.arguments if a.keyword_only and a.written)

    @property
    def has_symint(self) -> bool:
        """Whether an argument is a SymInt, or a list or optional of them."""
        return any(a.type.base == "SymInt" for a in self.arguments)

    @property
    def kind(self) -> SchemaKind:
        """How it gives its result (torchgen/model.py `FunctionSchema.kind`)."""
        if is_inplace(self.name.base):
            return "inplace"
        out = self.out_arguments
        if any(a.name.startswith("_scratch_") for a in out):
            return "scratch"
        if out:
            return "out"
        return "mutable" if any(a.written and a.name != "self" for a in self.arguments) else "functional"

    def __str__(self) -> str:
        parts: list[str] = []
        for number, argument in enumerate(self.arguments):
            if argument.keyword_only and (number == 0 or not self.arguments[number - 1].keyword_only):
                parts.append("*")
            parts.append(str(argument))
        returns = ", ".join(map(str, self.returns))
        return f"{self.name}({', '.join(parts)}) -> {returns if len(self.returns) == 1 else f'({returns})'}"


def is_inplace(base: str) -> bool:
    """`add_` and `__iadd__` (torchgen/model.py `BaseOperatorName.parse`)."""
    dunder = _DUNDER.fullmatch(base)
    return dunder[1] in _AUGMENTED if dunder else base.endswith("_")


@lru_cache(maxsize=4096)
def parse_schema(text: str) -> Schema:
    """The parts of a schema string. Raises SchemaError, a ValueError with a position."""
    return _Reader(text).schema()


def _annotated(type_: Type, alias: Alias | None) -> str:
    if alias is None:
        return str(type_)
    bare = str(Type(type_.base, (), type_.parameters))
    if not alias.before:
        return f"{type_}!"
    return f"{bare}({alias}){''.join(type_.wrappers)}"


class _Token(NamedTuple):
    kind: str
    text: str
    position: int


def _tokens(text: str) -> Iterator[_Token]:
    position = 0
    end = len(text.rstrip())
    while position < end:
        match = _TOKEN.match(text, position)
        if match is None or match.lastgroup is None:
            at = position + len(text[position:]) - len(text[position:].lstrip())
            raise SchemaError(f"{text[at]!r} has no place in a schema", at)
        yield _Token(match.lastgroup, match[match.lastgroup], match.start(match.lastgroup))
        position = match.end()
    yield _Token("end", "", end)


class _Reader:
    """Recursive descent over the tokens of one schema."""

    def __init__(self, text: str) -> None:
        self.tokens = list(_tokens(text))
        self.at = 0

    def schema(self) -> Schema:
        name = self.take("name", what="an operator's name").text
        self.mark("(")
        arguments = self.arguments()
        self.take("arrow", what="->")
        returns = self.returns()
        self.take("end", what="the end")
        return Schema(operator_name(name), arguments, returns)

    def arguments(self) -> tuple[Argument, ...]:
        found: list[Argument] = []
        keyword_only = False
        while not self.skip(")"):
            if found or keyword_only:
                self.mark(",")
            if self.skip("*"):
                keyword_only = True
            elif self.peek().kind == "dots":
                self.at += 1
            else:
                found.append(self.argument(keyword_only))
        return tuple(found)

    def argument(self, keyword_only: bool) -> Argument:
        type_, alias = self.type(0)
        name = self.take("name", what="an argument's name").text
        if self.skip("["):  # `int stride[2]`, an old spelling of `int[2] stride`
            type_ = Type(type_.base, (*type_.wrappers, f"[{self.size()}]"), type_.parameters)
        default = self.default(0) if self.skip("=") else None
        return Argument(name, type_, default, alias, keyword_only)

    def returns(self) -> tuple[Return, ...]:
        if self.peek().kind == "dots":
            self.at += 1
            return ()
        if not self.skip("("):
            return (self.returned(),)
        found: list[Return] = []
        while not self.skip(")"):
            if found:
                self.mark(",")
            if self.peek().kind == "dots":
                self.at += 1
                continue
            found.append(self.returned())
        return tuple(found)

    def returned(self) -> Return:
        type_, alias = self.type(0)
        name = self.take("name").text if self.peek().kind == "name" else ""
        return Return(name, type_, alias)

    def type(self, depth: int) -> tuple[Type, Alias | None]:
        begin = self.peek()
        if depth > MAX_DEPTH:
            raise SchemaError("types are nested too deep", begin.position)
        alias: Alias | None = None
        base = "Tuple"
        parameters: tuple[Type, ...] = ()
        if self.skip("("):
            parameters = self.types(depth)
        else:
            base = self.take("name", what="a type").text
            if self.peek().text == "(":
                alias = None if base in _PARAMETRIC else self.alias()
                if alias is None:
                    self.mark("(")
                    parameters = self.types(depth)
        wrappers: list[str] = []
        while True:
            if self.skip("?"):
                wrappers.append("?")
            elif self.skip("["):
                wrappers.append(f"[{self.size()}]")
            elif alias is None and self.skip("!"):
                alias = Alias((), True)
            elif self.peek().text == "(" and alias is None:
                alias = self.alias()
                if alias is None:
                    raise SchemaError("an alias annotation was expected", self.peek().position)
            else:
                return Type(base, tuple(wrappers), parameters), alias

    def types(self, depth: int) -> tuple[Type, ...]:
        found: list[Type] = []
        while not self.skip(")"):
            if found:
                self.mark(",")
            found.append(self.type(depth + 1)[0])
            if self.peek().kind == "name":  # a named member of a tuple
                self.at += 1
        return tuple(found)

    def size(self) -> str:
        """What stands in `[…]`: nothing or a number; takes the bracket that closes."""
        size = self.take("number").text if self.peek().kind == "number" else ""
        self.mark("]")
        return size

    def alias(self) -> Alias | None:
        """An alias annotation, if one begins here: the parser moves only then."""
        begin = self.at
        self.mark("(")
        before = self.alias_set()
        if before:
            write = self.skip("!")
            after: tuple[str, ...] = ()
            if self.peek().kind == "arrow":
                self.at += 1
                after = self.alias_set()
            if self.skip(")") and (write or after or all(len(name) == 1 for name in before)):
                return Alias(before, write, after)
        self.at = begin
        return None

    def alias_set(self) -> tuple[str, ...]:
        found: list[str] = []
        while self.peek().kind == "name" or self.peek().text == "*":
            found.append(self.peek().text)
            self.at += 1
            if not self.skip("|"):
                break
        return tuple(found)

    def default(self, depth: int) -> str:
        """A default value in its own spelling; a list without blanks, as native_functions.yaml has it."""
        token = self.peek()
        if depth > MAX_DEPTH:
            raise SchemaError("a default is nested too deep", token.position)
        if token.text in ("[", "("):
            close = {"[": "]", "(": ")"}[token.text]
            self.at += 1
            items: list[str] = []
            while not self.skip(close):
                if items:
                    self.mark(",")
                items.append(self.default(depth + 1))
            return f"{token.text}{','.join(items)}{close}"
        if token.text == "-":
            self.at += 1
            return "-" + self.default(depth + 1)
        if token.kind not in ("name", "number", "string"):
            raise SchemaError("a default value was expected", token.position)
        self.at += 1
        return token.text

    def peek(self) -> _Token:
        return self.tokens[self.at]

    def take(self, kind: str, what: str = "") -> _Token:
        token = self.tokens[self.at]
        if token.kind != kind:
            raise SchemaError(f"{what or kind} was expected, not {token.text!r}", token.position)
        if kind != "end":
            self.at += 1
        return token

    def skip(self, text: str) -> bool:
        token = self.tokens[self.at]
        if token.kind != "mark" or token.text != text:
            return False
        self.at += 1
        return True

    def mark(self, text: str) -> None:
        if not self.skip(text):
            token = self.peek()
            raise SchemaError(f"{text!r} was expected, not {token.text!r}", token.position)
