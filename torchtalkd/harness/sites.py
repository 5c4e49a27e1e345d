"""What in a text looks like a registration, by its spelling alone? Text in, sites out; pure.

These are plain searches, on purpose apart from the parsers and their conventions: they find too
much rather than too little, and whoever compares them with the index sees what it lacks.
The tests are in `tests/test_sites.py`.
"""

from __future__ import annotations

import ast
import re
import warnings
from bisect import bisect_right
from collections.abc import Iterator
from itertools import islice

from torchtalkd.harness.values import Site

CPP_LANGUAGES = frozenset({"cpp", "cuda", "objcpp", "metal"})
_ARGUMENTS_KEPT = 4
_ARGUMENT_LENGTH = 120

# Bounds, so that no file is slow, whatever stands in it.
_MOST_SITES = 5_000
"""Of each form."""
_LONGEST = 3_000
"""Characters in which the end of a call is looked for; a longer one ends there."""

# Comments, directives with their continuation lines, and strings of each form. What is not closed
# goes to the end of the file.
_SKIPPED = re.compile(
    r"//[^\n]*|/\*(?:.*?\*/|.*)|^[ \t]*\#(?:[^\\\n]|\\\r?\n|\\.)*"
    r'|R"(?P<d>[^()\\\s]{0,16})\((?:.*?\)(?P=d)"|.*)'
    r'|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)+\'',
    re.DOTALL | re.MULTILINE,
)
_MAY_HAVE_CPP = re.compile(r"_(?:LIBRARY|MODULE)|REGISTER|\b(?:def|def_static|impl|op)\s*\(")
_UPPER = re.compile(r"^[ \t]*([A-Z][A-Z0-9_]{2,99})\s*\(", re.MULTILINE)
_LIBRARY_NAME = re.compile(r"[A-Z0-9_]+_(?:LIBRARY|MODULE)(?:_[A-Z0-9_]+)?")
_MACRO_NAME = re.compile(r"(?:[A-Z0-9]+_)*REGISTER(?:_[A-Z0-9_]+)?")
_ENTRY = re.compile(r'(?:\.|->)\s*(def|def_static|impl|op)\s*\(\s*(?=(?:[A-Za-z_][\w:]*\(\s*)?")')

# A block follows; where none does it is a forward declaration or another macro's business.
_FOLLOWED = re.compile(r"\)\s*\{")
_PARENTHESIS = re.compile(r"[()]")
_BRACKET = re.compile(r"[()\[\]{},]")

_REGISTERS = re.compile(r"_*register(?:_\w+)?|\w+_register(?:_\w+)?|\w*(?:custom|triton)_op(?:_\w+)?")
_NO_REGISTRY = frozenset({"atexit"})


def sites(path: str, text: str, language: str) -> list[Site]:
    """The registration-like places of a file, by line. A text that does not parse has none in Python."""
    if language == "python":
        return list(islice(_python_sites(path, text), _MOST_SITES))
    if language in CPP_LANGUAGES and _MAY_HAVE_CPP.search(text):
        return sorted(_cpp_sites(path, text), key=lambda site: site.line)
    return []


def _cpp_sites(path: str, text: str) -> Iterator[Site]:
    code = _SKIPPED.sub(_blank, text)
    starts = [match.end() for match in re.finditer("\n", code)]

    def site(form: str, match: re.Match[str], end: int) -> Site:
        line = bisect_right(starts, match.start(1)) + 1
        begin = starts[line - 2] if line > 1 else 0
        first = _printable(text[begin : begin + _ARGUMENT_LENGTH].partition("\n")[0])
        inner = _arguments(code, text, match.end(), end)
        return Site(path, line, bisect_right(starts, end) + 1, form, match.group(1), inner, first)

    libraries = (match for match in _UPPER.finditer(code) if _LIBRARY_NAME.fullmatch(match.group(1)))
    for match in islice(libraries, _MOST_SITES):
        end = _closing(code, match.end())
        if _FOLLOWED.match(code, end):
            yield site("library", match, end)
    macros = (match for match in _UPPER.finditer(code) if _MACRO_NAME.fullmatch(match.group(1)))
    for match in islice(macros, _MOST_SITES):
        end = _closing(code, match.end())
        if "," in code[match.end() : end] and not _LIBRARY_NAME.fullmatch(match.group(1)):
            yield site("macro", match, end)
    for match in islice(_ENTRY.finditer(code), _MOST_SITES):
        yield site("entry", match, _closing(code, match.end()))


def _blank(match: re.Match[str]) -> str:
    found = match.group()
    if found[0] in "\"R'":
        # The quotes stay, so that a string is still seen to stand there.
        return '"' + re.sub(r"[^\n]", " ", found[1:-1]) + '"'
    return re.sub(r"[^\n]", " ", found)


def _closing(code: str, at: int) -> int:
    """Offset of the parenthesis that closes the one before `at`, or of where it is no longer looked for."""
    depth = 1
    most = min(len(code), at + _LONGEST)
    for match in _PARENTHESIS.finditer(code, at, most):
        depth += 1 if match.group() == "(" else -1
        if not depth:
            return match.start()
    return most


def _arguments(code: str, text: str, start: int, end: int) -> tuple[str, ...]:
    """The first arguments as written, cut where a comma stands outside of all brackets."""
    found: list[str] = []
    depth = 0
    begin = start
    for match in _BRACKET.finditer(code, start, end):
        if match.group() == "," and not depth:
            found.append(text[begin : match.start()])
            begin = match.end()
            if len(found) == _ARGUMENTS_KEPT:
                break
        elif match.group() != ",":
            depth += 1 if match.group() in "([{" else -1
    if len(found) < _ARGUMENTS_KEPT:
        found.append(text[begin:end])
    return tuple(" ".join(one.split())[:_ARGUMENT_LENGTH] for one in found)


def _python_sites(path: str, text: str) -> Iterator[Site]:
    if "regist" not in text and "custom_op" not in text and "triton_op" not in text:
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        # Text of another Python, or none at all: the index says so as a problem of the file.
        return
    lines = text.splitlines()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            for decorator in node.decorator_list:
                if found := _decorator(decorator):
                    end = decorator.end_lineno or decorator.lineno
                    yield _python_site(path, lines, "decorator", *found, decorator.lineno, end)
    for statement in _top_level(tree.body):
        if found := _call(statement.value):
            yield _python_site(
                path, lines, "call", *found, statement.lineno, statement.end_lineno or statement.lineno
            )


def _top_level(body: list[ast.stmt]) -> Iterator[ast.Expr | ast.Assign]:
    """Expressions and assignments that run when the module is imported."""
    for statement in body:
        if isinstance(statement, ast.Expr | ast.Assign):
            yield statement
        elif isinstance(statement, ast.If | ast.For | ast.With | ast.Try):
            yield from _top_level(statement.body)
            yield from _top_level(getattr(statement, "orelse", []))
            for handler in getattr(statement, "handlers", ()):
                yield from _top_level(handler.body)


def _decorator(node: ast.expr) -> tuple[str, tuple[str, ...]] | None:
    call = node if isinstance(node, ast.Call) else None
    name = _callee(call.func if call else node)
    if not name or (call is None and name == "register"):
        return None  # `@f.register` is functools.singledispatch, which dispatches on a type.
    return name, _written(call) if call else ()


def _call(node: ast.expr) -> tuple[str, tuple[str, ...]] | None:
    if not isinstance(node, ast.Call):
        return None
    inner = node.func if isinstance(node.func, ast.Call) else node
    name = _callee(inner.func)
    if not name:
        return None
    values = [*_values(inner), *(_values(node) if inner is not node else ())]
    is_named = any(isinstance(value, ast.Constant) and isinstance(value.value, str) for value in values)
    is_given = any(isinstance(value, ast.Name | ast.Attribute | ast.Lambda) for value in values)
    return (name, _written(inner)) if is_named and is_given else None


def _values(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(keyword.value for keyword in call.keywords)]


def _callee(node: ast.expr) -> str:
    """The last component of what is called, if that sounds like a registration."""
    name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
    receiver = node.value if isinstance(node, ast.Attribute) else None
    if isinstance(receiver, ast.Name) and receiver.id in _NO_REGISTRY:
        return ""
    return name if _REGISTERS.fullmatch(name) else ""


def _written(call: ast.Call) -> tuple[str, ...]:
    shown = [_unparsed(value) for value in call.args[:_ARGUMENTS_KEPT]]
    shown += [f"{keyword.arg}={_unparsed(keyword.value)}" for keyword in call.keywords if keyword.arg]
    return tuple(one[:_ARGUMENT_LENGTH] for one in shown[:_ARGUMENTS_KEPT])


def _unparsed(node: ast.expr) -> str:
    try:
        return ast.unparse(node)
    except RecursionError:
        return "…"  # An expression of hundreds of terms names nothing.


def _python_site(
    path: str, lines: list[str], form: str, name: str, arguments: tuple[str, ...], line: int, end_line: int
) -> Site:
    text = lines[line - 1] if line <= len(lines) else ""
    return Site(path, line, end_line, form, name, arguments, _printable(text))


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else " " if c == "\t" else "?" for c in text.strip())
