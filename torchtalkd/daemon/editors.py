"""What an editor's server asks of the daemon: the roots of its folders, and how its texts are read.

An editor may have several folders, each of a tree of its own, and texts outside of all of them;
those are answered from the root that its command line, environment or configuration names.
The tests are in `tests/test_lsp.py`.
"""

from __future__ import annotations

import asyncio
import os
from collections import OrderedDict
from collections.abc import Collection, Mapping
from typing import Any, Final

from torchtalkd.config import read_config
from torchtalkd.conventions import Conventions, load
from torchtalkd.conventions.files import language_of
from torchtalkd.daemon.host import Host
from torchtalkd.daemon.installed import installed_version, of_same_version, package_folders
from torchtalkd.frontends.host import Draft, Installed, NotReady, OpenRoot
from torchtalkd.parse.draft import Draft as ReadDraft
from torchtalkd.parse.draft import draft
from torchtalkd.parse.python_meaning import PythonText
from torchtalkd.parse.python_spot import python_spot, python_text
from torchtalkd.roots import VARIABLES
from torchtalkd.spots import Spot

MOST_TEXTS: Final = 32
"""Python texts whose trees are kept."""


class Reader:
    """See `frontends.host.Reader`."""

    def __init__(self, conventions: Conventions) -> None:
        self._conventions = conventions
        self._texts: OrderedDict[tuple[str, bytes], PythonText] = OrderedDict()

    def language(self, path: str) -> str:
        """See `frontends.host.Reader`."""
        return language_of(self._conventions.files, path)

    def draft(self, path: str, data: bytes, former: Draft | None, *, whole: bool) -> Draft:
        """See `frontends.host.Reader`."""
        known = former if isinstance(former, ReadDraft) else None
        return draft(path, data, self._conventions, known, whole=whole)

    def spot(self, path: str, data: bytes, line: int, column: int) -> Spot | None:
        """See `frontends.host.Reader`."""
        key = (path, data)
        text = self._texts.pop(key, None) or python_text(path, data, self._conventions.python.roots)
        self._texts[key] = text
        while len(self._texts) > MOST_TEXTS:
            self._texts.popitem(last=False)
        return python_spot(text, line, column)


class Editors:
    """One editor's view of the host (`frontends.host.EditorHost`)."""

    def __init__(
        self, host: Host, source: str | None, harness: str | None, cwd: str, environment: dict[str, str]
    ) -> None:
        self._host = host
        self._source, self._harness, self._cwd = source, harness, cwd
        self._environment = environment
        self._readers: dict[str, Reader] = {}

    @property
    def is_named(self) -> bool:
        """See `frontends.host.EditorHost`."""
        return self._source is not None

    async def configured(self) -> OpenRoot:
        """See `frontends.host.EditorHost`."""
        return await self._opened(self._source, self._cwd, self._environment)

    async def around(self, folder: str) -> OpenRoot:
        """See `frontends.host.EditorHost`."""
        # What the environment names is for texts that are in no tree.
        without = {name: value for name, value in self._environment.items() if name not in VARIABLES}
        found = await self._opened(None, folder, without)
        inside = os.path.realpath(folder)
        if inside != found.path and not inside.startswith(found.path.rstrip("/") + "/"):
            raise NotReady(f"{folder} is in no source tree that is known")
        return found

    async def installed(self, folder: str, interpreter: str, roots: list[OpenRoot]) -> Installed:
        """See `frontends.host.EditorHost`."""
        meant = await self.configured()
        state = meant.handle.state()
        paths = [meant.path, *(root.path for root in roots)]

        def same() -> tuple[str, str, str]:
            if folder not in package_folders(interpreter):
                return meant.path, "", ""
            version = installed_version(folder, state.harness)
            known = [path for path, harness in read_config(self._environment).sources.items() if harness]
            found = of_same_version(version, state.harness, [*paths, *known])
            return found, version, installed_version(meant.path, state.harness)

        looking: Any = asyncio.get_running_loop().run_in_executor(None, same)
        found, version, other = await looking
        if found == meant.path or not version:
            return Installed(meant, "")
        if found:
            return Installed(await self._opened(found, self._cwd, self._environment), "")
        said = f"{folder} has {state.harness} {version}, and no source tree of that version is known"
        return Installed(meant, f"{said}: it is answered from {meant.path}, which is {other or 'another'}")

    def has_open(self, paths: Mapping[str, Collection[str]]) -> None:
        """See `frontends.host.EditorHost`."""
        for tree in self._host.trees():
            tree.exact.opens(self, paths.get(str(tree.root.path), ()))

    async def _opened(self, source: str | None, cwd: str, environment: dict[str, str]) -> OpenRoot:
        handle = self._host.root(source, self._harness, cwd=cwd, environment=environment)
        tree = await handle.tree()
        path = str(tree.root.path)
        if path not in self._readers:
            loading: Any = asyncio.get_running_loop().run_in_executor(None, self._reader, tree.root)
            self._readers[path] = await loading
        return OpenRoot(path, handle, self._readers[path])

    def _reader(self, root: Any) -> Reader:
        return Reader(load(root.harness, tree=root.path))
