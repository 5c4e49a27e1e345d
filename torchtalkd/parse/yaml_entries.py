"""A yaml list of mappings → its entries, each read alone, with the places of all scalars.

native_functions.yaml, derivatives.yaml and tags.yaml are lists whose entries begin with
`- ` at one indentation. The text is cut there first and each piece is given to the yaml
parser by itself, so an error costs its own entry and no other, and marks stay exact.

Terms. An *entry* is the text from its dash to the line before the next dash; comments and
blank lines at its end belong to what follows. A *stray* line is one at or left of the
dash's column that begins no entry; it ends the entry above it and is a Problem.

Not read, on purpose: aliases (`*x`, the means of a yaml bomb; the files have none) and
explicit tags. Depth, events and size of an entry have limits. Pure; never raises for any
bytes. Tests: `tests/test_op_schema.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple, TypeAlias

import yaml

from torchtalkd.facts import Problem

try:
    from yaml import CSafeLoader as _Loader
except ImportError:  # PyYAML built without libyaml: the same events, ten times slower.
    from yaml import SafeLoader as _Loader  # type: ignore[assignment]

MAX_ENTRY_CHARACTERS: Final = 50_000
"""The largest real entry has under 10,000; libyaml is linear, so this bounds time too."""
MAX_EVENTS: Final = 20_000
"""Yaml events of one entry; real ones have under 200."""
MAX_DEPTH: Final = 20
"""Nesting of one entry; real ones have 4."""
MAX_PROBLEMS: Final = 1_000
"""Problems kept of one file, so that garbage costs no more than text would."""

_DASH = re.compile(r"(?P<indent> *)-(?:[ \t]|$)")
_QUIET = re.compile(r"[ \t]*(#|$)|---([ \t]|$)|\.\.\.([ \t]|$)|%(YAML|TAG)\b")
_LISTED = re.compile(r"[^\s,'\"|>]+")
_BREAKS = re.compile("[\x85\u2028\u2029]")
_UNDECODABLE = re.compile("[\udc80-\udcff]")
_BOOLEAN = {word: value for value, words in ((True, "true True TRUE yes Yes YES on On ON"),
                                             (False, "false False FALSE no No NO off Off OFF"))
            for word in words.split()}  # fmt: skip
_NULL = frozenset(("", "~", "null", "Null", "NULL"))
_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]{0,17})")

Json: TypeAlias = "bool | int | str | list[Json] | dict[str, Json] | None"


class Scalar(NamedTuple):
    """A scalar as written. Lines are 1-based in the file; columns count characters."""

    value: str
    style: str
    """'' for a plain one, else the quote or `|` or `>`."""
    line: int
    column: int
    end_line: int
    end_column: int


class Sequence(NamedTuple):
    """A list: `- x` or `[x, y]`."""

    items: list[Node]
    line: int


class Mapping(NamedTuple):
    """A mapping; duplicate keys are all kept, in the order of the text."""

    items: list[tuple[Node, Node]]
    line: int


Node: TypeAlias = "Scalar | Sequence | Mapping"


class Entry(NamedTuple):
    """One item of the list, if it is a mapping."""

    line: int
    """1-based, of the dash."""
    end_line: int
    """Of the last line that is neither blank nor a comment."""
    fields: list[tuple[Scalar, Node]]
    """In the order of the text."""


class Text(NamedTuple):
    """The lines of a file, to find the byte column of something inside a scalar."""

    lines: list[str]
    """Undecodable bytes as lone surrogates (`surrogateescape`), so that columns can be counted in bytes."""

    def column(self, line: int, column: int) -> int:
        """The byte column (0-based) of a character column in a line (1-based)."""
        text = self.lines[line - 1]
        return column if text.isascii() else len(text[:column].encode("utf-8", "surrogateescape"))

    def place(self, scalar: Scalar, part: str = "") -> tuple[int, int]:
        """Line and byte column of the first occurrence of `part` as a word in a scalar as written;
        the scalar's beginning if it is not there."""
        line, column = scalar.line, scalar.column + (scalar.style in ("'", '"'))
        if part and not self.lines[line - 1].startswith(part, column):
            word = re.compile(rf"(?<![\w.]){re.escape(part)}(?![\w.])")
            for number, begin, found in self.rows(scalar):
                match = word.search(found)
                if match:
                    return number, self.column(number, begin + match.start())
        return line, self.column(line, min(column, len(self.lines[line - 1])))

    def words(self, scalar: Scalar) -> Iterator[tuple[str, int, int]]:
        """What stands between commas and white space of a scalar as written: (word, line, byte column)."""
        for number, begin, found in self.rows(scalar):
            for match in _LISTED.finditer(found):
                yield match[0], number, self.column(number, begin + match.start())

    def rows(self, scalar: Scalar) -> Iterator[tuple[int, int, str]]:
        """The lines of a scalar as written, quotes included: (line, its first character column, text)."""
        for number in range(scalar.line, min(scalar.end_line, len(self.lines)) + 1):
            begin = scalar.column if number == scalar.line else 0
            end = scalar.end_column if number == scalar.end_line else None
            yield number, begin, self.lines[number - 1][begin:end]


class Entries(NamedTuple):
    """What a file holds."""

    text: Text
    entries: list[Entry]
    problems: list[Problem]


def entries(data: bytes) -> Entries:
    """Cut a yaml list into its entries and read each. Never raises."""
    text, spans, problems = cut(data)
    found = [entry for span in spans if (entry := read(text, span, problems)) is not None]
    return Entries(text, found, limited(problems))


def cut(data: bytes) -> tuple[Text, list[tuple[int, int]], list[Problem]]:
    """The text, the entries in it as (index of the first line, index after the last), and what lies
    outside of them. Never raises."""
    text, problems = _decode(data)
    return text, list(_cut(text.lines, problems)), problems


def limited(problems: list[Problem]) -> list[Problem]:
    """MAX_PROBLEMS of them, and how many more there are."""
    more = len(problems) - MAX_PROBLEMS
    if more <= 0:
        return problems
    return [*problems[:MAX_PROBLEMS], Problem(0, "syntax", f"{more} more problems")]


def lines_of(text: Text, span: tuple[int, int]) -> str:
    """The lines of an entry, which are all that what it says depends on."""
    return "\n".join(text.lines[span[0] : span[1]]) + "\n"


def value(node: Node) -> Json:
    """A node as plain data: yaml's booleans, nulls and decimal integers resolved, all else text.
    Of equal keys the first counts; a key that is no scalar is left out."""
    if isinstance(node, Scalar):
        if node.style:
            return node.value
        if node.value in _BOOLEAN:
            return _BOOLEAN[node.value]
        if node.value in _NULL:
            return None
        return int(node.value) if _INTEGER.fullmatch(node.value) else node.value
    if isinstance(node, Sequence):
        return [value(item) for item in node.items]
    made: dict[str, Json] = {}
    for key, item in node.items:
        if isinstance(key, Scalar):
            made.setdefault(key.value, value(item))
    return made


def _decode(data: bytes) -> tuple[Text, list[Problem]]:
    problems: list[Problem] = []
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        problems.append(Problem(0, "encoding", "UTF-16; torchgen reads UTF-8"))
        data = data.decode("utf-16", "replace").encode("utf-8", "replace")
    data = data.removeprefix(b"\xef\xbb\xbf")
    try:
        lines = [line.decode("utf-8") for line in data.splitlines()]
    except UnicodeDecodeError:
        lines = [line.decode("utf-8", "surrogateescape") for line in data.splitlines()]
        bad = next(number for number, line in enumerate(lines, 1) if _UNDECODABLE.search(line))
        problems.append(Problem(bad, "encoding", "not UTF-8"))
    return Text(lines), problems


def _cut(lines: list[str], problems: list[Problem]) -> Iterator[tuple[int, int]]:
    """The entries as (index of the first line, index after the last line that says something)."""
    # The least indented dash decides: a damaged first entry must not lend the list its inner one.
    indent = min((len(dash["indent"]) for line in lines if (dash := _DASH.match(line))), default=-1)
    first = last = -1
    for index, line in enumerate(lines):
        if line.startswith("  ") and indent == 0 and first >= 0:  # most lines by far
            if not line.lstrip().startswith("#") and not line.isspace():
                last = index
            continue
        dash = _DASH.match(line)
        if dash and len(dash["indent"]) == indent:
            if first >= 0:
                yield first, last + 1
            first = last = index
        elif _QUIET.match(line):
            if line[:1] in "-.%" and line and first >= 0:  # a document ends here
                yield first, last + 1
                first = -1
        elif indent >= 0 and len(line) - len(line.lstrip(" ")) > indent and first >= 0:
            last = index
        elif indent >= 0 and len(line) - len(line.lstrip(" ")) > indent:
            continue  # below a stray line: that one was reported
        else:
            problems.append(Problem(index + 1, "syntax", "neither an entry (`- …`) nor part of one"))
            if first >= 0:
                yield first, last + 1
            first = -1
    if first >= 0:
        yield first, last + 1


class _Refused(Exception):
    """An entry that goes beyond the limits."""


def read(text: Text, span: tuple[int, int], problems: list[Problem]) -> Entry | None:
    """One entry; None and a problem more where it is none. Never raises."""
    first, last = span
    piece = lines_of(text, span)
    if len(piece) > MAX_ENTRY_CHARACTERS:
        problems.append(Problem(first + 1, "size", f"an entry of {len(piece)} characters is not read"))
        return None
    if not piece.isascii():
        # What yaml takes for a line break and no editor does would shift the marks.
        piece = _UNDECODABLE.sub("\ufffd", _BREAKS.sub(" ", piece))
    try:
        root = _compose(piece, first + 1)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = min(first + 1 + (mark.line if mark else 0), max(last, first + 1))
        said = " ".join(part for part in (error.context, error.problem) if part)
        problems.append(Problem(line, "syntax", said or "yaml error"))
        return None
    except yaml.YAMLError as error:  # a character that yaml does not allow
        problems.append(Problem(first + 1, "syntax", str(error).splitlines()[0]))
        return None
    except _Refused as error:
        problems.append(Problem(first + 1, "size", str(error)))
        return None
    item = root.items[0] if isinstance(root, Sequence) and root.items else None
    if not isinstance(item, Mapping):
        problems.append(Problem(first + 1, "syntax", "an entry must be a mapping of fields"))
        return None
    fields = [(key, node) for key, node in item.items if isinstance(key, Scalar)]
    if len(fields) < len(item.items):
        problems.append(Problem(first + 1, "syntax", "a field's name must be plain text"))
    return Entry(first + 1, last, fields)


def _compose(piece: str, line: int) -> Node | None:
    """The tree of one entry. Iterative over yaml's events, so no input can exhaust the stack."""
    root: Node | None = None
    # The open containers with what they hold so far; a mapping's keys and values alternate.
    open_nodes: list[tuple[bool, list[Node], int]] = []
    count = 0
    for event in yaml.parse(piece, Loader=_Loader):
        count += 1
        if count > MAX_EVENTS:
            raise _Refused(f"an entry of more than {MAX_EVENTS} yaml events is not read")
        node: Node
        if isinstance(event, yaml.ScalarEvent):
            # Events of parsed text have marks; the type allows for made ones.
            start: Any = event.start_mark
            end: Any = event.end_mark
            style = event.style or ""
            node = Scalar(event.value, "" if style == ":" else style,
                          line + start.line, start.column, line + end.line, end.column)  # fmt: skip
        elif isinstance(event, yaml.CollectionStartEvent):
            if len(open_nodes) >= MAX_DEPTH:
                raise _Refused(f"an entry nested deeper than {MAX_DEPTH} is not read")
            begin: Any = event.start_mark
            open_nodes.append((isinstance(event, yaml.MappingStartEvent), [], line + begin.line))
            continue
        elif isinstance(event, yaml.CollectionEndEvent):
            is_mapping, held, at = open_nodes.pop()
            node = (
                Mapping(list(zip(held[::2], held[1::2], strict=True)), at)
                if is_mapping
                else Sequence(held, at)
            )
        elif isinstance(event, yaml.AliasEvent):
            raise _Refused(f"the alias *{event.anchor} is not followed")
        else:
            continue
        if open_nodes:
            open_nodes[-1][1].append(node)
        elif root is None:
            root = node
    return root
