"""A manifest's Python conventions, ready to be asked what a call binds. Pure."""

from __future__ import annotations

import re
from fnmatch import translate

from torchtalkd.conventions.globs import union
from torchtalkd.conventions.values import Python, PythonBinding, PythonLayer
from torchtalkd.parse.python_registries import Registries, endings
from torchtalkd.parse.python_uses import Wanted


class Bindings:
    """The Python conventions of a manifest, ready to be asked by a call's last component."""

    def __init__(self, python: Python) -> None:
        self.python = python
        rows = [(union(b.paths) if b.paths else None, b) for b in python.bindings]
        # Most calls are named plainly: those are looked up, and only the others tried one by one.
        self._patterns = [
            (re.compile(translate(b.call)), n) for n, (_, b) in enumerate(rows) if not b.call.isidentifier()
        ]
        named = [translate(b.call) for _, b in rows if not b.call.isidentifier()]
        self._any = re.compile("|".join(named) or "(?!)")
        """What one of these matches."""
        self._plain: dict[str, list[int]] = {}
        for n, (_, b) in enumerate(rows):
            if b.call.isidentifier():
                self._plain.setdefault(b.call, []).append(n)
        self._rows = rows
        self.registries = Registries(python.registries)
        self.kernels = endings(python.kernels) if python.kernels else None
        """Which decorators make a device kernel."""
        self.loaders = endings(python.loaders) if python.loaders else None
        """Which calls give a module by its name."""
        self._lookups = frozenset(lookup.call for lookup in python.lookups)
        self._makers = frozenset(python.tests.makers)
        self._layers = [(union((layer.pattern,)), layer) for layer in python.layers]
        self.wanted = Wanted(self._wants)
        self._wanted: dict[str, bool] = {}
        self._by_call: dict[str, list[tuple[re.Pattern[str] | None, PythonBinding]]] = {}

    def _wants(self, last: str) -> bool:
        """Whether a call of something with this last component may bind."""
        known = self._wanted.get(last)
        if known is None:
            if len(self._wanted) > 100_000:  # names are without end, memory is not
                self._wanted.clear()
            known = (
                bool(self._of(last))
                or self.registries.wants(last)
                or last in self._lookups
                or last in self._makers
            )
            self._wanted[last] = known
        return known

    def at(self, last: str, path: str) -> list[PythonBinding]:
        """The bindings of a call in the file at `path`."""
        return [b for paths, b in self._of(last) if paths is None or paths.fullmatch(path)]

    def layers(self, path: str) -> list[PythonLayer]:
        """The layers that the file at `path` belongs to."""
        return [layer for pattern, layer in self._layers if pattern.fullmatch(path)]

    def _of(self, last: str) -> list[tuple[re.Pattern[str] | None, PythonBinding]]:
        known = self._by_call.get(last)
        if known is None:
            if len(self._by_call) > 100_000:  # names are without end, memory is not
                self._by_call.clear()
            numbers = self._plain.get(last, [])
            if self._any.fullmatch(last):
                numbers = sorted([*numbers, *(n for call, n in self._patterns if call.fullmatch(last))])
            known = [self._rows[n] for n in numbers]
            self._by_call[last] = known
        return known


_prepared: dict[int, Bindings] = {}


def bindings_of(python: Python) -> Bindings:
    """The prepared bindings of a manifest; kept by identity, for a process serves few manifests."""
    known = _prepared.get(id(python))
    if known is None:
        if len(_prepared) > 16:
            _prepared.clear()
        known = _prepared[id(python)] = Bindings(python)
    return known
