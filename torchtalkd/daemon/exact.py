"""The daemon's side of exact reading: for each tree a process that follows its index in the background.

It begins when the index has been brought up to date, and hears of each revision after that. One tree reads
at a time. Whatever becomes of it, questions are answered as before: from what is read by name, and from
what was read exactly so far. The tests are in `tests/test_daemon_exact.py`.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from torchtalkd.config import ConfigError, read_config, reads_exactly
from torchtalkd.daemon.log import log
from torchtalkd.own_process import own_process
from torchtalkd.roots import Root

_LINE: Final = 1 << 22
MOST_DEATHS: Final = 3
"""Ends of the process after which it is not started again until the tree changes."""


class Exact:
    """The exact reading of one tree. Lives on the event loop."""

    def __init__(self, root: Root, folder: Path, turn: asyncio.Lock) -> None:
        """`turn` is shared by all trees."""
        self.progress = (0, 0)
        """(files read exactly, files in all) of the last report."""
        self.error = ""
        self._root, self._folder, self._turn = root, folder, turn
        self._listeners: list[Callable[[str, int, int], None]] = []
        self._process: asyncio.subprocess.Process | None = None
        self._running: asyncio.Task[None] | None = None
        self._wanted = False
        self._deaths = 0
        self._closed = False
        self._number = 0
        """Of the last request."""
        self._opened: dict[object, frozenset[str]] = {}
        """By editor: the files that it has open."""

    @property
    def busy(self) -> bool:
        """Whether something is being read."""
        return self._running is not None

    def go(self) -> None:
        """Brings the exact reading up to the index, in the background."""
        if self._closed or not reads_exactly(os.environ):
            return
        self._wanted = True
        self._deaths = 0
        if self._running is None:
            self._running = asyncio.get_running_loop().create_task(self._work())
            self._running.add_done_callback(self._worked)
        elif self._process is not None and self._turn_is_ours:
            self._send()

    def opens(self, editor: object, paths: Collection[str]) -> None:
        """Says which files of the tree an editor has open, by their paths from the root: these are read
        before others. None when it ends."""
        before = self._open_paths()
        if paths:
            self._opened[editor] = frozenset(paths)
        else:
            self._opened.pop(editor, None)
        if self._process is not None and self._turn_is_ours and not self._open_paths() <= before:
            self._send()

    def _open_paths(self) -> frozenset[str]:
        return frozenset().union(*self._opened.values())

    async def finished(self, report: Callable[[str, int, int], None]) -> tuple[int, int, str]:
        """Waits until nothing is read any more: (files read exactly, files in all, why not more). `report`
        hears how far it is."""
        self._listeners.append(report)
        try:
            while self._running is not None:
                await asyncio.wait([self._running])
        finally:
            self._listeners.remove(report)
        return *self.progress, self.error

    async def rest(self) -> None:
        """Ends the process, for a tree that nobody asks about any more."""
        if self._running is not None:
            self._running.cancel()
        await self._end()

    async def close(self) -> None:
        """Ends the process; what was read is kept."""
        self._closed = True
        await self.rest()

    # -- the work

    _turn_is_ours = False

    def _worked(self, task: asyncio.Task[None]) -> None:
        self._running = None
        if not task.cancelled() and (error := task.exception()) is not None:
            log.warning("exact reading failed: %s", error)
            self.error = str(error)

    async def _work(self) -> None:
        async with self._turn:
            self._turn_is_ours = True
            try:
                while self._wanted and not self._closed and self._deaths < MOST_DEATHS:
                    if self._process is None:
                        self._process = await self._started()
                    if self._send():
                        await self._followed(self._process)
            finally:
                self._turn_is_ours = False

    def _send(self) -> bool:
        """Whether a request is on its way."""
        assert self._process is not None
        assert self._process.stdin is not None
        self._wanted = False
        try:
            config = read_config(os.environ)
        except ConfigError as error:
            self.error = str(error)
            return False
        root = str(self._root.path)
        self._number += 1
        request = {
            "number": self._number,
            "root": root,
            "harness": self._root.harness,
            "named": self._root.named,
            "folder": str(self._folder),
            "trusted": config.trusted.get(root, ""),
            "database": config.compile_commands.get(root, ""),
            "opened": sorted(self._open_paths()),
        }
        with suppress(ConnectionError):
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
        return True

    async def _followed(self, process: asyncio.subprocess.Process) -> None:
        """Takes in its reports until it has done what it was asked for."""
        assert process.stdout is not None
        while line := await process.stdout.readline():
            report: dict[str, Any] = json.loads(line)
            if "progress" in report:
                self.progress = (int(report["progress"][0]), int(report["progress"][1]))
                for listener in self._listeners:
                    listener("exact", *self.progress)
            elif report["number"] < self._number:
                # A later request is still being worked on.
                continue
            elif "failed" in report:
                self.error = report["message"]
                return
            else:
                self.error = report["done"]["off"]
                return
        self._deaths += 1
        self._wanted = True
        await self._end()
        log.warning("the process that reads a tree exactly ended by itself")

    async def _started(self) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            *own_process("daemon.exact_keeper"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=_LINE,
        )

    async def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            with suppress(ProcessLookupError):
                process.terminate()
            await process.wait()
