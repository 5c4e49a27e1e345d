"""Functions and stubs named as plain values: `unary_op_impl(result, self, abs_stub)`,
`random_impl<RandomStub>(self)`.

Nothing in the text of one file says that an identifier among arguments is a function of another
file. Two things do: the file defines it itself, or its name ends as the framework's functions of
that sort do (`cpp.value_suffixes` of the manifest). A local variable called like that is taken for
one too: a look-up by key finds nothing for it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator

from torchtalkd import keys
from torchtalkd.parse.collector import Collector
from torchtalkd.parse.occurrences import occurrences

_BEFORE = re.compile(rb"[(,<{]\s*\Z")
_AFTER = re.compile(rb"\s*[,)>}]")
_MADE = re.compile(rb"\s*[<>{,]")
_NAME_START = re.compile(rb"[A-Za-z_]\w*(?:::\w+)*\Z")
_REACH = 120
"""Bytes looked back for the beginning of a name and what stands before it."""


def add_values(collector: Collector) -> None:
    """Add a reference `address` for each value whose name has one of the suffixes."""
    owners = _add_functors(collector)
    if collector.language == "cuda":
        owners = _add_kernels(collector, owners)
    data = collector.data
    absent: set[bytes] = set()
    for suffix, shared in collector.spelling.value_suffixes:
        if shared not in absent and shared not in data:
            absent.add(shared)
        position = data.find(suffix) if shared not in absent else -1
        while position >= 0:
            end = position + len(suffix)
            position = data.find(suffix, end)
            if not _AFTER.match(data, end):
                continue
            window = data[max(0, end - _REACH) : end]
            match = _NAME_START.search(window)
            if match is None or not _BEFORE.search(window, 0, match.start()):
                continue
            if owners is None:
                owners = function_spans(collector)
            offset = end - len(match.group())
            owner = innermost(owners, collector.text.place(offset)[0])
            if owner >= 0:
                name = match.group().decode()
                collector.refer("address", keys.cpp(name), name, offset, owner)


def _add_functors(collector: Collector) -> list[tuple[int, int, int]] | None:
    """The classes of this file that can be called, where they are named: `Functor<T>{}(iter)`,
    `dispatch<Functor>(iter)`. The functions of the file, if they were needed."""
    definitions = collector.definitions
    functors = {
        keys.cpp_last(definitions[d.scope].name)
        for d in definitions
        if d.scope >= 0 and d.key == _CALL_OPERATOR and definitions[d.scope].kind == "class"
    }
    if not functors:
        return None
    owners = function_spans(collector)
    data = collector.data
    for start, end in occurrences(data, {name.encode() for name in functors}):
        if not _MADE.match(data, end):
            continue
        owner = innermost(owners, collector.text.place(start)[0])
        if owner >= 0:
            name = data[start:end].decode()
            collector.refer("address", keys.cpp(name), name, start, owner)
    return owners


def _add_kernels(
    collector: Collector, owners: list[tuple[int, int, int]] | None
) -> list[tuple[int, int, int]] | None:
    """The device kernels of this file, and what is called like one, where a value is made of them:
    `auto kernel = &scan_kernel<T, 8>;`, `cudaLaunchKernelEx(&config, scan_kernel<T>, x)`."""
    data = collector.data
    names = {keys.cpp_last(d.name).encode() for d in collector.definitions if d.kind == "kernel"}
    found = {*occurrences(data, names), *_called_like_kernels(data)}
    behind = 0
    for start, end in sorted(found):
        before = _KERNEL_BEFORE.search(data, max(behind, start - _REACH), start)
        after = _KERNEL_AFTER.match(data, end) if before is not None else None
        if before is None or after is None:
            continue
        behind = after.end()
        if owners is None:
            owners = function_spans(collector)
        offset = before.start(1)
        owner = innermost(owners, collector.text.place(offset)[0])
        if owner >= 0:
            name = data[offset:end].decode()
            collector.refer("address", keys.cpp(name), name, offset, owner)
    return owners


def _called_like_kernels(data: bytes) -> Iterator[tuple[int, int]]:
    """Where names stand that end in `_kernel`, with template arguments behind them."""
    for match in _KERNEL_WITH_ARGUMENTS.finditer(data):
        before = _WORD_END.search(data, max(0, match.start() - _REACH), match.start())
        if before is not None:
            yield before.start(), match.end()


_KERNEL_WITH_ARGUMENTS = re.compile(rb"_kernel(?=\s*<[^<])")
"""The end of the name alone: the engine finds what begins with letters that are given."""
_WORD_END = re.compile(rb"\b\w+\Z")
_KERNEL_BEFORE = re.compile(rb"[=(,]\s*(?:&\s*)?((?:\w+::)*)\Z")
_KERNEL_AFTER = re.compile(rb"\s*(?:<[^;{}]*?>)?\s*[;,)]")
_CALL_OPERATOR = keys.cpp("operator()")


def function_spans(collector: Collector) -> list[tuple[int, int, int]]:
    """(first line, last line, ordinal) of each function of the file, by first line."""
    return sorted(
        (definition.line, definition.end_line, ordinal)
        for ordinal, definition in enumerate(collector.definitions)
        if definition.kind in ("function", "kernel", "structured_impl") and not definition.declares
    )


def innermost(functions: list[tuple[int, int, int]], line: int) -> int:
    """The ordinal of the function that a line stands in, -1 for none."""
    at = bisect_right(functions, (line, 1 << 62, 0))
    for first, last, ordinal in reversed(functions[max(0, at - 24) : at]):
        if first <= line <= last:
            return ordinal
    return -1
