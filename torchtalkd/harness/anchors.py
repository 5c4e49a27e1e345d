"""Reads integration anchors: a YAML file that says which name leads to which file of a tree.

    version: 2.6.0            # of the tree they were written from; may be left out
    anchors:
      - name: torch.mul
        file: aten/src/ATen/native/BinaryOps.cpp
        role: native          # these three only where they matter
        dispatch_key: CPU
        text: mul_out         # what stands in the line

A tree may bring its own, so the file is data of a stranger: it has a size limit, and aliases,
which could make a small text a large value, are refused. The tests are in `tests/test_harness.py`.
"""

from __future__ import annotations

import difflib
import importlib.resources
from pathlib import Path, PurePosixPath
from typing import Any, Final

import yaml

from torchtalkd.harness.values import Anchor, Anchors

try:
    from yaml import CSafeLoader as _Loader
except ImportError:  # PyYAML built without libyaml: the same events, ten times slower.
    from yaml import SafeLoader as _Loader  # type: ignore[assignment]

FOLDER: Final = "tests/integration"
"""Where a tree, and this project, keep them: `<name of the harness>.yml`."""
FIELDS: Final = ("name", "file", "role", "dispatch_key", "text")
_MOST_BYTES: Final = 1_000_000
_MOST_DEEP: Final = 20


class AnchorError(Exception):
    """A file of anchors cannot be used; `str()` is one line: `path:line: what is wrong`."""

    def __init__(self, path: str, line: int, message: str) -> None:
        super().__init__(f"{path}:{line}: {message}" if line else f"{path}: {message}")


def anchors_for(harness: str, root: Path) -> Anchors | None:
    """The anchors of a harness: those that the tree brings, else those that ship; None without any.

    Reads files only. Raises AnchorError.
    """
    own = root / FOLDER / f"{harness}.yml"
    if own.is_file():
        if not own.resolve().is_relative_to(root.resolve()):
            raise AnchorError(str(own), 0, "a symbolic link that leads out of the tree is not read")
        return read_anchors(own)
    shipped = _shipped() / f"{harness}.yml"
    return read_anchors(shipped) if shipped.is_file() and not harness.startswith("_") else None


def read_anchors(path: Path) -> Anchors:
    """The anchors of a file. Raises AnchorError."""
    try:
        with path.open("rb") as stream:
            data = stream.read(_MOST_BYTES + 1)
    except OSError as error:
        raise AnchorError(str(path), 0, f"cannot be read: {error.strerror}") from error
    if len(data) > _MOST_BYTES:
        raise AnchorError(str(path), 0, f"larger than {_MOST_BYTES:,} bytes")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise AnchorError(str(path), data.count(b"\n", 0, error.start) + 1, "not UTF-8 text") from error
    return _read(str(path), text)


def _shipped() -> Path:
    try:
        return Path(str(importlib.resources.files("torchtalkd.integration")))
    except ModuleNotFoundError:
        # A source checkout that was not installed has the folder beside the package.
        return Path(__file__).resolve().parents[2] / FOLDER


def _read(path: str, text: str) -> Anchors:
    try:
        _refuse_aliases(path, text)
        top = yaml.compose(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 0
        raise AnchorError(path, line, f"not valid YAML: {error.problem}") from error
    except yaml.YAMLError as error:
        raise AnchorError(path, 0, f"not valid YAML: {' '.join(str(error).split())}") from error
    version = ""
    listed: Any = top
    if isinstance(top, yaml.MappingNode):
        fields = _fields(path, top, ("version", "anchors"), "a file of anchors")
        version = _text(path, fields["version"], "version") if "version" in fields else ""
        listed = fields.get("anchors")
    if not isinstance(listed, yaml.SequenceNode):
        line = listed.start_mark.line + 1 if listed is not None else 1
        raise AnchorError(path, line, "'anchors' must be a list; each is `- name: …` and `file: …`")
    if not listed.value:
        raise AnchorError(path, listed.start_mark.line + 1, "it has no anchor")
    return Anchors(path, version, tuple(_anchor(path, node) for node in listed.value))


def _refuse_aliases(path: str, text: str) -> None:
    depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if isinstance(event, yaml.AliasEvent) or depth > _MOST_DEEP:
            what = "aliases (*name) are not read" if depth <= _MOST_DEEP else "nested too deeply"
            raise AnchorError(path, event.start_mark.line + 1 if event.start_mark else 0, what)


def _anchor(path: str, node: yaml.Node) -> Anchor:
    line = node.start_mark.line + 1
    if not isinstance(node, yaml.MappingNode):
        raise AnchorError(path, line, "an anchor is a table: `name: …`, `file: …`")
    fields = _fields(path, node, FIELDS, "an anchor")
    for name in ("name", "file"):
        if name not in fields:
            raise AnchorError(path, line, f"an anchor needs the field '{name}'; fields: {', '.join(FIELDS)}")
    anchor = Anchor(**{name: _text(path, inner, name) for name, inner in fields.items()}, line=line)
    if not anchor.name.strip():
        raise AnchorError(path, line, "'name' is empty")
    file = PurePosixPath(anchor.file)
    if not anchor.file or file.is_absolute() or ".." in file.parts or str(file) != anchor.file:
        raise AnchorError(path, line, f"'{anchor.file}' is no plain path from the root of the tree")
    return anchor


def _fields(path: str, node: yaml.MappingNode, known: tuple[str, ...], what: str) -> dict[str, yaml.Node]:
    found: dict[str, yaml.Node] = {}
    for key, value in node.value:
        line = key.start_mark.line + 1
        name = key.value if isinstance(key, yaml.ScalarNode) else ""
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean '{near[0]}'? " if near else ""
            raise AnchorError(
                path, line, f"unknown field '{name}' in {what}; {hint}fields: {', '.join(known)}"
            )
        if name in found:
            raise AnchorError(path, line, f"'{name}' is there twice")
        found[name] = value
    return found


def _text(path: str, node: yaml.Node, name: str) -> str:
    # A version like 2.6 is text here, whatever YAML takes it for.
    if not isinstance(node, yaml.ScalarNode):
        raise AnchorError(path, node.start_mark.line + 1, f"'{name}' must be text")
    return str(node.value)
