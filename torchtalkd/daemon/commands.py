"""What the daemon does for a command: the same words as in its own process, sent as frames.

A command waits for a first index, with its progress, and longer than an agent for what has just
changed: it is asked once, and its user has just saved a file. The tests are in
`tests/test_daemon_cli.py`.
"""

from __future__ import annotations

import asyncio
import time
from argparse import Namespace
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from dataclasses import asdict
from typing import Any, Final

from torchtalkd import cli
from torchtalkd.cache import SNAPSHOTS
from torchtalkd.daemon.host import Handle
from torchtalkd.daemon.keepers import STOPPED, BuildFailed
from torchtalkd.daemon.log import log
from torchtalkd.daemon.tree import Tree
from torchtalkd.engine import BuildResult
from torchtalkd.frontends.command import ask, build, updating
from torchtalkd.frontends.command.told import Told
from torchtalkd.frontends.host import NotReady, RootState
from torchtalkd.frontends.text import not_settled
from torchtalkd.queries.status import status
from torchtalkd.snapshots import keeping
from torchtalkd.snapshots.errors import SnapshotError
from torchtalkd.store.errors import StoreError

PATIENCE: Final = 2.0
"""Seconds that a command waits for what has changed to be read."""
_PROGRESS_SECONDS: Final = 0.1
_PIECE: Final = 1 << 16

Send = Callable[[dict[str, Any]], Awaitable[None]]


async def run(argv: list[str], handle: Handle, send: Send) -> None:
    """Answers one command with frames; the last one has the exit code. Raises ConnectionError."""
    try:
        told = await _told(argv, handle, send)
    except cli.WrongCall as error:
        told = Told("", f"torchtalkd: {error}\n", 2)
    except BuildFailed as error:
        if error.kind == STOPPED:
            # No answer: whoever asked sees the connection end, and does it without us.
            raise ConnectionAbortedError("the daemon ends") from error
        hint = "; another place for the index can be named with XDG_CACHE_HOME"
        sentence = f"{error}{hint if error.kind == 'NotPermitted' else ''}"
        told = Told("", f"torchtalkd: {sentence}\n", 2 if error.kind == "ManifestError" else 1)
    except ConnectionError:
        raise
    except Exception as error:  # noqa: BLE001 - one question's failure is the answer to it, no more
        cause = error.__cause__ if isinstance(error, NotReady) else error
        # What the user did wrong is said to the user; only a mistake of ours is of use in the log.
        if not isinstance(error, NotReady | SnapshotError | StoreError):
            log.exception("a command failed")
        sentence, code = cli.explained(cause) if isinstance(cause, Exception) else (str(error), 1)
        told = Told("", f"torchtalkd: {sentence}\n", code)
    for name, text in (("err", told.err), ("out", told.out)):
        for start in range(0, len(text), _PIECE):
            await send({name: text[start : start + _PIECE]})
    await send({"exit": told.code})


def state_json(state: RootState) -> dict[str, Any]:
    """A root's state as `status --json` shows it."""
    return asdict(state)


async def _told(argv: list[str], handle: Handle, send: Send) -> Told:
    try:
        arguments = cli.parser().parse_args(argv)
    except SystemExit as stop:
        # The client has looked at it before: this is one that speaks to us without our program.
        raise cli.WrongCall("torchtalkd", "that asks for help, not for an answer") from stop
    begun = time.monotonic()
    tree = await handle.tree()
    log.info("%s, about %s", arguments.command, tree.root.path)
    if arguments.command == "index build":
        return await _build(tree, handle, arguments, send, begun)
    if arguments.command == "index update":
        return await _update(tree, handle, arguments, send, begun)
    if arguments.command not in ask.ASKS:
        raise cli.WrongCall("torchtalkd", f"the daemon does not do {arguments.command}")
    async with _reporting(tree, send) as report:
        await tree.first(report)
    own = ask.own_question(arguments)
    if own is not None:
        answer: Any = await handle.ask(own, PATIENCE, wait=arguments.wait)
        waiting = answer.standing.waiting
    else:
        answer = await handle.across(
            ask.question(arguments),
            PATIENCE,
            wait=arguments.wait,
            all_roots=arguments.all_roots,
            base=arguments.base,
        )
        waiting = answer.waiting
    told = await asyncio.get_running_loop().run_in_executor(None, ask.told, answer, arguments)
    unsettled = ""
    if arguments.wait and waiting:
        unsettled = f"torchtalkd: {not_settled(waiting)}\n"
    return told._replace(err="".join(_remarks(tree, begun)) + unsettled + told.err)


def _remarks(tree: Tree, begun: float) -> Iterator[str]:
    state = tree.state()
    if state.error:
        yield (
            f"torchtalkd: {state.error}: this answer is from revision {state.revision},"
            " not brought up to date\n"
        )
    yield from (f"torchtalkd: {note}\n" for note in tree.notes_since(begun))


async def _build(tree: Tree, handle: Handle, arguments: Namespace, send: Send, begun: float) -> Told:
    built: BuildResult | None = None
    async with _reporting(tree, send) as report:
        try:
            built = await tree.refresh(workers=arguments.workers, progress=report)
        except BuildFailed as error:
            if error.kind not in ("Locked", "NotPermitted") or not tree.has_index():
                raise
    answer = await handle.ask(status, PATIENCE) if arguments.json else None
    told = build.told(str(tree.root.path), built, answer, arguments)
    exactly = ""
    if build.waits_for_exact(arguments):
        tree.exact.go()
        async with _reporting(tree, send) as report:
            done, total, said = await tree.exact.finished(report)
        exactly = f"torchtalkd: {build.exactly_line(said, (), done, total, time.monotonic() - begun)}\n"
    return told._replace(err="".join(_remarks(tree, begun)) + exactly + told.err)


async def _update(tree: Tree, handle: Handle, arguments: Namespace, send: Send, begun: float) -> Told:
    home = tree.folder.parent / SNAPSHOTS
    await asyncio.get_running_loop().run_in_executor(None, keeping.snapshot, home, arguments.since)
    async with _reporting(tree, send) as report:
        built = await tree.refresh(workers=arguments.workers, progress=report)
        found = await handle.ask(lambda view: updating.since(view, home, arguments.since), PATIENCE)
        if found.units:
            more = await tree.refresh(workers=arguments.workers, progress=report, again=found.units)
            built = updating.both(built, more) or more
    answer = await handle.ask(status, PATIENCE)
    told = updating.told(str(tree.root.path), built, found, answer, arguments)
    return told._replace(err="".join(_remarks(tree, begun)) + told.err)


class _reporting:  # noqa: N801 - used like a function
    """Sends the progress of a build while it lasts, not more often than anyone can read."""

    def __init__(self, tree: Tree, send: Send) -> None:
        self._root = str(tree.root.path)
        self._send = send
        self._step: tuple[str, int, int] | None = None
        self._task: asyncio.Task[None] | None = None

    def __call__(self, phase: str, done: int, total: int) -> None:
        self._step = (phase, done, total)

    async def __aenter__(self) -> _reporting:
        self._task = asyncio.ensure_future(self._run())
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._task is not None:
            self._task.cancel()
            # A client that is gone shows when the answer is sent.
            with suppress(asyncio.CancelledError, ConnectionError):
                await self._task

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(_PROGRESS_SECONDS)
            step, self._step = self._step, None
            if step is not None:
                await self._send({"progress": step, "root": self._root})
