"""bytes → FileFacts. Pure: no file is opened, nothing is remembered between calls."""

from __future__ import annotations

from torchtalkd.conventions.files import language_of, role_of
from torchtalkd.conventions.values import Conventions
from torchtalkd.facts import FileFacts, Problem

VERSION = "1"
"""Part of every file's recipe: raise it when a parser gives other facts for the same bytes."""


def parse(path: str, data: bytes, conventions: Conventions) -> FileFacts:
    """The facts of one file: a function of its path, its bytes and the conventions.

    Never raises for any bytes; what could not be read is a Problem.
    """
    language = language_of(conventions.files, path)
    role = role_of(conventions.files, path)
    if len(data) > conventions.files.max_bytes:
        text = f"{len(data)} bytes: larger than files.max_bytes = {conventions.files.max_bytes}"
        return FileFacts(path, language, role, problems=(Problem(0, "size", text),))
    if language in ("cpp", "cuda", "objcpp", "metal"):
        from torchtalkd.parse.cpp import parse_cpp

        return parse_cpp(path, data, conventions, language, role)
    if language == "python":
        from torchtalkd.parse.python import parse_python

        return parse_python(path, data, conventions, language, role)
    if language in ("native_functions", "derivatives", "tags"):
        from torchtalkd.parse.op_schema import parse_op_schema

        return parse_op_schema(path, data, conventions, language, role)
    return FileFacts(path, language, role)
