"""The values that a comparison of a harness with its index is made from."""

from __future__ import annotations

from typing import NamedTuple


class Anchor(NamedTuple):
    """One thing that is known of a tree: this name leads to this file."""

    name: str
    """As a user asks for it: `torch.matmul`, `aten::mm`, a kernel's name."""
    file: str
    """From the root."""
    role: str = ""
    """Which layer the place belongs to (a role of the answers: native, gpu_kernel, …); '': any."""
    dispatch_key: str = ""
    """Under which key; '': any."""
    text: str = ""
    """What the line says that is answered with; '': anything."""
    line: int = 0
    """Of the anchor itself in its file, 1-based."""


class Anchors(NamedTuple):
    """A file of anchors."""

    path: str
    """The file, as the user may open it."""
    version: str
    """The version of the tree that they were written from, '' where they do not say."""
    anchors: tuple[Anchor, ...]


class Site(NamedTuple):
    """A place that looks like a registration, whatever it registers."""

    file: str
    """From the root."""
    line: int
    """1-based, where the call or decorator begins."""
    end_line: int
    """Where the call or decorator ends."""
    form: str
    """`library` (X_LIBRARY(…) {…}), `entry` (m.def("…")), `macro` (REGISTER_…(name, fn)),
    `decorator` (@register_…), `call` (register_…("name", fn))."""
    name: str
    """The macro, method or function: TORCH_LIBRARY_IMPL, def, register_fake."""
    arguments: tuple[str, ...]
    """As written, the first few. Not to be printed: the tree may hold any character."""
    text: str
    """The first line, without the space around it and with what cannot be printed as `?`."""
