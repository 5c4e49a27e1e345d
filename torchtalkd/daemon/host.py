"""Holds the trees that clients ask about, and lets go of those that nobody has asked about lately.

The tests are in `tests/test_daemon.py`.
"""

from __future__ import annotations

import asyncio
import gc
import os
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

from torchtalkd.bases import MOST_OTHERS, Choice, Known, choose, given_base, known_root, known_roots
from torchtalkd.cache import index_folder
from torchtalkd.config import ConfigError, read_config
from torchtalkd.conventions import ManifestError
from torchtalkd.daemon import watching
from torchtalkd.daemon.keepers import Keepers
from torchtalkd.daemon.tree import PATIENCE, Tree
from torchtalkd.free_memory import give_back
from torchtalkd.frontends.host import NotReady, RootState
from torchtalkd.queries.answers import Answer
from torchtalkd.queries.others import NONE, Other, Others
from torchtalkd.roots import Root, RootError, choose_root
from torchtalkd.store.view import View

T = TypeVar("T")

MOST_TREES: Final = MOST_OTHERS + 1
"""Trees that stay open; the one not asked about for longest is closed."""
THREADS: Final = 4
"""For questions that take long; quick ones go one after the other (see `Tree`)."""
REST_SECONDS: Final = 60.0
"""Without a question or a change for this long, caches are given back."""
_WRONG: Final = (RootError, ConfigError, ManifestError, OSError)
"""What is wrong with a root, or with what says which it is."""


class Client(NamedTuple):
    """What a client's words mean depends on where it is."""

    cwd: Path
    environment: Mapping[str, str]


class Around(NamedTuple):
    """The other roots of one question."""

    trees: tuple[Tree, ...]
    """Those that have an index."""
    bases: tuple[str, ...]
    """For each, which framework of the asked root it is; '' for none."""
    names: tuple[str, ...]
    """The harness of the asked root and those that it extends."""
    notes: tuple[str, ...]
    """Of those that have none yet."""
    unknown: tuple[str, ...]
    """The wanted frameworks of which no root is known."""


class Handle:
    """One root, as one client sees it (`frontends.host.RootHandle`)."""

    def __init__(self, choosing: asyncio.Task[Tree], host: Host, client: Client) -> None:
        self._choosing = choosing
        self._host = host
        self._asked = host.asked
        self._client = client

    async def tree(self) -> Tree:
        """The tree that is meant. Raises NotReady where none is."""
        try:
            return await asyncio.shield(self._choosing)
        except _WRONG as error:
            raise NotReady(str(error)) from error

    async def ask(
        self, question: Callable[[View], T], patience: float = PATIENCE, *, wait: bool = False
    ) -> T:
        """See `frontends.host.RootHandle.ask`."""
        self._asked(None)
        tree = await self.tree()
        self._asked(tree)
        try:
            return await tree.ask(question, patience, wait=wait)
        finally:
            self._asked(tree)

    async def across(
        self,
        question: Callable[[View, Others], Answer],
        patience: float = PATIENCE,
        *,
        wait: bool = False,
        all_roots: bool = False,
        base: str | None = None,
    ) -> Answer:
        """See `frontends.host.RootHandle.across`. `base` is a path to take a framework from; NotReady
        where that is none."""
        wants: tuple[str, ...] | None = None
        if not all_roots:
            answer = await self.ask(lambda view: question(view, NONE), patience, wait=wait)
            wants = answer.wants
            if not wants and base is None:
                return answer
        tree = await self.tree()
        try:
            around = await self._host.around(tree, self._client, wants, base)
        except _WRONG as error:
            if base is not None:
                raise NotReady(str(error)) from error
            # Which other roots there are cannot be said; the asked one is there all the same.
            around = Around((), (), (), (str(error),), ())
        if wants is not None and not (around.trees or around.notes) and answer.found:
            return answer

        def asked(views: Sequence[View]) -> Answer:
            others = [
                Other(str(one.root.path), view, name)
                for one, name, view in zip(around.trees, around.bases, views[1:], strict=True)
            ]
            found = Others(tuple(others), all_roots, around.names, around.notes, around.unknown)
            return question(views[0], found)

        for one in around.trees:
            self._asked(one)
        try:
            return await tree.ask_with(around.trees, asked, patience, wait=wait)
        finally:
            self._asked(tree)

    async def bases(self) -> dict[str, str]:
        """See `frontends.host.RootHandle.bases`."""
        tree = await self.tree()
        try:
            return await self._host.bases(tree, self._client)
        except _WRONG as error:
            raise NotReady(str(error)) from error

    def state(self) -> RootState:
        """See `frontends.host.RootHandle.state`."""
        error = ""
        if self._choosing.done() and not self._choosing.cancelled():
            failed = self._choosing.exception()
            if failed is None:
                return self._choosing.result().state()
            error = str(failed)
        return RootState("", "", 0, not error, 0, 0, 0, error, "")


class Host:
    """All trees of a daemon (`frontends.host.Host`)."""

    def __init__(self) -> None:
        self.keepers = Keepers()
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="question")
        self._choosers = ThreadPoolExecutor(2, thread_name_prefix="root")
        self._watchers = ThreadPoolExecutor(watching.THREADS, thread_name_prefix="watch")
        self._exact_turn = asyncio.Lock()
        self._trees: dict[tuple[str, str, Path], Tree] = {}
        self._asked = time.monotonic()
        self.heard = 0.0
        """When a client has said anything, on the monotonic clock."""
        self._rested: object = None
        """How far everything was when caches were given back."""

    def root(
        self,
        source: str | None,
        harness: str | None,
        *,
        cwd: str = "/",
        environment: Mapping[str, str] | None = None,
    ) -> Handle:
        """The root that a client in `cwd` with this environment means. Returns at once."""
        given = dict(os.environ if environment is None else environment)
        chosen = self._chosen(source, harness, cwd, given)
        choosing = asyncio.get_running_loop().create_task(chosen)
        choosing.add_done_callback(lambda task: task.cancelled() or task.exception())
        return Handle(choosing, self, Client(Path(cwd), given))

    def asked(self, tree: Tree | None = None) -> None:
        """Notes that somebody asks, and about which tree: idle times count from here, and a tree that was
        closed is held again."""
        self._asked = time.monotonic()
        if tree is not None:
            self._hold(tree)

    @property
    def quiet_seconds(self) -> float:
        """For how long nobody has asked anything; 0 while something is read."""
        busy = any(tree.busy or tree.exact.busy for tree in self._trees.values())
        return 0.0 if busy else time.monotonic() - self._asked

    def trees(self) -> list[Tree]:
        """Those that are open, the one used last first."""
        return sorted(self._trees.values(), key=lambda tree: -tree.used)

    async def around(
        self, tree: Tree, client: Client, wants: tuple[str, ...] | None, base: str | None
    ) -> Around:
        """The other roots that a question about a tree looks into: its bases `wants`, or all (None). One
        that is remembered and has no index yet begins to be read; nobody waits for that. Raises RootError,
        ConfigError."""
        choices, asked = await self._known(tree, client, wants, base)
        trees, bases, notes = [], [], []
        for root, name in choices:
            if not name and not root.indexed:
                notes.append(f"without {root.path}: it is not indexed (`index build` reads it)")
                continue
            other = self._tree(Root(root.path, root.harness, "base", root.named), root.folder)
            self._hold(other)
            if other.has_index():
                trees.append(other)
                bases.append(name)
            else:
                notes.append(f"without {name or root.harness}: {other.why_not_ready()}")
        unknown = set(asked.depends_on if wants is None else wants) - {choice.base for choice in choices}
        return Around(tuple(trees), tuple(bases), asked.harnesses, tuple(notes), tuple(unknown))

    async def bases(self, tree: Tree, client: Client) -> dict[str, str]:
        """The root of each framework that a tree depends on, where one is known; nothing is opened."""
        choices, _ = await self._known(tree, client, None, None)
        return {name: str(root.path) for root, name in choices if name}

    async def _known(
        self, tree: Tree, client: Client, wants: tuple[str, ...] | None, base: str | None
    ) -> tuple[list[Choice], Known]:
        now, monotonic = time.time(), time.monotonic()
        # Trees of another cache are of another home.
        home = tree.folder.parent
        others = {one for one in self._trees.values() if one.folder.parent == home}
        used = {str(one.root.path): now - (monotonic - one.used) for one in others}
        harnesses = {str(one.root.path): one.root.harness for one in others}

        def known() -> tuple[list[Choice], Known]:
            config = read_config(client.environment)
            asked = known_root(tree.root.path, tree.root.harness, client.environment, config=config)
            if asked is None:
                raise RootError(f"{tree.root.path} is no tree of {tree.root.harness} any more")
            given = given_base(base, cwd=client.cwd, environ=client.environment, config=config)
            roots = known_roots(client.environment, used, config=config, harnesses=harnesses)
            return choose(asked, roots, wants=wants, given=given), asked

        return await asyncio.get_running_loop().run_in_executor(self._choosers, known)

    async def rest(self, *, sessions: bool) -> None:
        """Gives back what only makes questions quicker, once in each quiet time. A keeper stays at hand
        where `sessions` may ask any moment."""
        far = (self._asked, *(tree.fresh.tried for tree in self._trees.values()))
        busy = any(tree.busy for tree in self._trees.values())
        if far == self._rested or busy or time.monotonic() - max(far) < REST_SECONDS:
            return
        self._rested = far
        for tree in self._trees.values():
            tree.rest()
        await (self.keepers.ready() if sessions else self.keepers.end_idle())
        gc.collect()
        give_back()

    async def close(self) -> None:
        """Ends what runs; nothing that was read is lost."""
        await self.keepers.close()
        for tree in self._trees.values():
            tree.close()
            await tree.exact.close()
        for threads in (self._choosers, self._threads, self._watchers):
            threads.shutdown(wait=False, cancel_futures=False)

    async def _chosen(
        self, source: str | None, harness: str | None, cwd: str, environment: dict[str, str]
    ) -> Tree:
        def choose() -> tuple[Root, Path]:
            config = read_config(environment)
            root = choose_root(source, harness, environ=environment, cwd=Path(cwd), config=config)
            return root, index_folder(root.path, environment)

        root, folder = await asyncio.get_running_loop().run_in_executor(self._choosers, choose)
        tree = self._tree(root, folder)
        self._hold(tree)
        tree.used = time.monotonic()
        tree.warm()
        return tree

    def _tree(self, root: Root, folder: Path) -> Tree:
        tree = self._trees.get((str(root.path), root.harness, folder))
        return tree or Tree(
            root,
            folder,
            self.keepers,
            self._threads,
            self._watchers,
            self._exact_turn,
            lambda: self.heard,
        )

    def _hold(self, tree: Tree) -> None:
        key = (str(tree.root.path), tree.root.harness, tree.folder)
        if key not in self._trees:
            self._make_room()
            self._trees[key] = tree
            tree.begin()

    def _make_room(self) -> None:
        for key, tree in sorted(self._trees.items(), key=lambda pair: pair[1].used):
            if len(self._trees) < MOST_TREES:
                return
            if not tree.busy:
                # A client that still holds it can go on asking: then it is opened again.
                tree.close()
                del self._trees[key]
