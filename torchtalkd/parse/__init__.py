"""bytes → FileFacts. Pure: no file is opened; what is remembered between calls only saves time."""

from __future__ import annotations

import sys
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path

from torchtalkd.conventions.files import language_of, role_of
from torchtalkd.conventions.values import Conventions
from torchtalkd.facts import FileFacts, Problem


def _version() -> str:
    """A digest of the parsers' own text and the grammars' versions, so that no one has to remember to
    raise a number."""
    digest = blake2b(digest_size=8)
    # Build files are read with `ast`, which knows the syntax of its own version.
    digest.update(f"{sys.version_info[:2]}".encode())
    folder = Path(__file__).parent
    for source in sorted([*folder.rglob("*.py"), *folder.rglob("*.scm")]):
        # What libclang reads has a recipe of its own: see `exact.recipe`.
        if not source.name.startswith("exact"):
            digest.update(source.read_bytes())
    for grammar in ("tree_sitter", "tree_sitter_cpp", "tree_sitter_cuda", "tree_sitter_python"):
        # The size of its compiled part: package metadata would take longer to read than all the rest.
        spec = find_spec(grammar)
        for place in (spec.submodule_search_locations or []) if spec is not None else []:
            sizes = sorted((library.name, library.stat().st_size) for library in Path(place).glob("*.so"))
            digest.update(f"{grammar}{sizes}".encode())
    return digest.hexdigest()


VERSION = _version()
"""Part of every file's recipe: another parser or another grammar may give other facts for the same bytes."""


def prepare(conventions: Conventions) -> None:
    """Loads the grammars and compiles queries and conventions, 0.15 s, which the first `parse` of each
    language would do otherwise."""
    from torchtalkd.parse import cpp, op_schema, python  # noqa: F401
    from torchtalkd.parse.python_conventions import bindings_of
    from torchtalkd.parse.spelling import spelling

    spelling(conventions)
    bindings_of(conventions.python)


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
        from torchtalkd.parse.targets_python import with_targets

        return with_targets(parse_python(path, data, conventions, language, role), data, conventions)
    if language in ("native_functions", "derivatives", "tags"):
        from torchtalkd.parse.op_schema import parse_op_schema

        return parse_op_schema(path, data, conventions, language, role)
    if language == "cmake":
        from torchtalkd.parse.targets_cmake import parse_cmake

        return parse_cmake(path, data, conventions, language, role)
    if language == "pyproject":
        from torchtalkd.parse.targets_pyproject import parse_pyproject

        return parse_pyproject(path, data, conventions, language, role)
    if language == "notebook":
        text = "a notebook: what its cells define and test is not read"
        return FileFacts(path, language, role, problems=(Problem(0, "syntax", text),))
    return FileFacts(path, language, role)
