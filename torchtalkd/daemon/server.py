"""The daemon at work: it takes connections, hears what each wants, and ends when it should.

It ends when it is told to, by a signal or by `stop`; when nobody has used it for a while; and when
a newer build has asked it to retire and its last client has gone. What one client sends or fails
to read touches no other. The tests are in `tests/test_daemon.py`.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from torchtalkd import __version__
from torchtalkd.config import ConfigError, read_idle_seconds
from torchtalkd.daemon import commands
from torchtalkd.daemon.claim import Claim
from torchtalkd.daemon.editors import Editors
from torchtalkd.daemon.host import Handle, Host
from torchtalkd.daemon.log import log
from torchtalkd.frontends.host import NotReady
from torchtalkd.wire import PACKAGE, PROTOCOL, WireError, control, daemons, peer_uid

MOST_CLIENTS: Final = 200
MOST_LINE: Final = 4 << 20
"""Bytes of a line that a client may send."""
HELLO_SECONDS: Final = 10.0
"""For a client to say what it wants."""
ROOT_SECONDS: Final = 5.0
"""For finding the tree that a client means; a disk that does not answer must not hold it longer."""
QUIET_SECONDS: Final = 2.0
"""A session that has said nothing for so long can be sent to a newer daemon."""
LOOK_SECONDS: Final = 1.0
"""How often the daemon looks whether it should end."""
COLLECT: Final = (50_000, 20, 1000)
"""Objects made before the young are looked at, then the middle-aged, then the old."""
ENDING_SECONDS: Final = 3.0


class _Reader(asyncio.StreamReader):
    """Knows when it last heard something, and tells the host."""

    def __init__(self, host: Host) -> None:
        super().__init__(limit=MOST_LINE)
        self.heard = 0.0
        self._host = host

    def feed_data(self, data: Any) -> None:
        """As the base class."""
        self.heard = self._host.heard = time.monotonic()
        super().feed_data(data)


class _Client:
    """One connection."""

    def __init__(self, task: asyncio.Task[None], reader: _Reader) -> None:
        self.task = task
        self.reader = reader
        self.want = ""


class _Wrong(Exception):
    """A client does not speak as it should; `str()` tells it so."""

    def __init__(self, sentence: str, exit: int = 2) -> None:
        super().__init__(sentence)
        self.exit = exit


class Server:
    """A daemon with its clients."""

    def __init__(self, claimed: Claim, build: str, started: float) -> None:
        self._claim = claimed
        self._hello = {
            "torchtalkd": PROTOCOL,
            "build": build,
            "version": __version__,
            "package": PACKAGE,
            "pid": os.getpid(),
            "started": started,
        }
        self._idle_seconds = _idle_seconds()
        self._clients: set[_Client] = set()
        self._retiring = False

    async def serve(self) -> None:
        """Serves until the daemon is to end."""
        loop = asyncio.get_running_loop()
        # Facts are small tuples without cycles, a million of them in the views' caches: looking for
        # some in them stops every thread for a tenth of a second and more. `Host.rest` collects.
        gc.set_threshold(*COLLECT)
        gc.enable()
        self._host = Host()
        self._ending = asyncio.Event()
        self._ended = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            loop.add_signal_handler(number, self._end, signal.Signals(number).name)
        await loop.create_unix_server(self._protocol, sock=self._claim.listening, backlog=256)
        others = loop.create_task(self._retire_others())
        looking = loop.create_task(self._look())
        try:
            await self._ending.wait()
        finally:
            self._claim.leave()
            others.cancel()
            looking.cancel()
            await self._host.close()
            tasks = [client.task for client in self._clients if client.want != "control"]
            for task in tasks:
                task.cancel()
            if tasks:
                await asyncio.wait(tasks, timeout=ENDING_SECONDS)
            self._ended.set()

    # -- clients

    def _protocol(self) -> asyncio.StreamReaderProtocol:
        return asyncio.StreamReaderProtocol(_Reader(self._host), self._connected)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        assert isinstance(reader, _Reader)
        client = _Client(task, reader)
        self._clients.add(client)
        try:
            await self._served(client, writer)
        except _Wrong as error:
            with suppress(ConnectionError):
                await _send(writer, {"error": str(error), "exit": error.exit})
        except (ConnectionError, asyncio.IncompleteReadError):
            # It went away: nobody is left to be told.
            pass
        except asyncio.CancelledError:
            # The daemon ends, or retires, and this client finds the next one.
            pass
        except Exception:  # noqa: BLE001 - one client's failure touches no other
            log.exception("a client that wanted %r was left", client.want)
        finally:
            self._clients.discard(client)
            writer.close()

    async def _served(self, client: _Client, writer: asyncio.StreamWriter) -> None:
        if peer_uid(writer.get_extra_info("socket")) != os.geteuid():
            raise _Wrong("this daemon belongs to another user")
        if len(self._clients) > MOST_CLIENTS:
            raise _Wrong(f"the daemon has {MOST_CLIENTS} clients and takes no more", 1)
        await _send(writer, self._hello)
        async with asyncio.timeout(HELLO_SECONDS) as limit:
            try:
                hello = await _line(client.reader)
            except TimeoutError:
                if limit.expired():
                    return
                raise
        want = hello.get("want")
        if want not in ("mcp", "lsp", "command", "control"):
            raise _Wrong(f"there is nothing called {want!r} here: mcp, lsp, command, control")
        client.want = want
        if want == "control":
            await _send(writer, {"ok": True, "root": "", "note": ""})
            await self._control(client.reader, writer)
            return
        if want == "lsp":
            await self._lsp(client.reader, writer, hello)
            return
        handle = self._host.root(
            _text(hello, "source"),
            _text(hello, "harness"),
            cwd=_text(hello, "cwd") or "/",
            environment=_environment(hello),
        )
        if want == "command":
            await _send(writer, {"ok": True, "root": "", "note": ""})
            await self._command(client.reader, writer, handle)
        else:
            await self._mcp(client.reader, writer, handle, hello)

    async def _mcp(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        handle: Handle,
        hello: dict[str, Any],
    ) -> None:
        note, tools = _text(hello, "note") or "", _text(hello, "tools") or "all"
        loading = asyncio.get_running_loop().run_in_executor(None, _mcp_front_end)
        try:
            async with asyncio.timeout(ROOT_SECONDS):
                tree = await handle.tree()
        except TimeoutError as error:
            raise _Wrong("the source tree does not answer", 1) from error
        except NotReady as error:
            raise _Wrong(str(error)) from error
        await _send(writer, {"ok": True, "root": str(tree.root.path), "note": note})
        log.info("an agent's session begins, about %s", tree.root.path)
        serve = await loading
        await serve(reader, writer, handle, note, tools)
        log.info("an agent's session ends")

    async def _lsp(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, hello: dict[str, Any]
    ) -> None:
        note = _text(hello, "note") or ""
        source, harness = _text(hello, "source"), _text(hello, "harness")
        loading = asyncio.get_running_loop().run_in_executor(None, _lsp_front_end)
        host = Editors(self._host, source, harness, _text(hello, "cwd") or "/", _environment(hello))
        await _send(writer, {"ok": True, "root": source or "", "note": note})
        log.info("an editor's session begins")
        serve = await loading
        await serve(reader, writer, host, note)
        log.info("an editor's session ends")

    async def _command(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, handle: Handle
    ) -> None:
        request = await _line(reader)
        if not isinstance(request.get("argv"), list):
            raise _Wrong("a command needs its argv")

        async def send(frame: dict[str, Any]) -> None:
            await _send(writer, frame)

        running = asyncio.ensure_future(commands.run([str(word) for word in request["argv"]], handle, send))
        # A client that goes away, or is interrupted, wants no answer any more.
        leaving = asyncio.ensure_future(reader.read(1))
        try:
            await asyncio.wait([running, leaving], return_when=asyncio.FIRST_COMPLETED)
            if running.done():
                await running
        finally:
            running.cancel()
            leaving.cancel()
            await asyncio.wait([running, leaving], timeout=ENDING_SECONDS)

    async def _control(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        do = (await _line(reader)).get("do")
        if do == "status":
            await _send(writer, self._status())
        elif do == "stop":
            # First nobody finds it any more, then it says so: who starts the next one need not wait.
            self._claim.leave()
            await _send(writer, {"stopping": True, "pid": os.getpid()})
            self._end("stop")
            await self._ended.wait()
        elif do == "retire":
            self._retiring = True
            log.info("asked to retire: another build of the program is in use")
            await _send(writer, {"retiring": True, "pid": os.getpid()})
        else:
            raise _Wrong(f"there is nothing called {do!r} to do: status, stop, retire")

    def _status(self) -> dict[str, Any]:
        wants = [client.want for client in self._clients if client.want not in ("", "control")]
        return {
            **self._hello,
            "uptime": time.time() - float(self._hello["started"]),  # type: ignore[arg-type]
            "socket": str(self._claim.path),
            "log": str(self._claim.path.with_suffix(".log")),
            "clients": {want: wants.count(want) for want in sorted(set(wants))},
            "retiring": self._retiring,
            "roots": [commands.state_json(tree.state()) for tree in self._host.trees()],
        }

    # -- the end

    def _end(self, why: str) -> None:
        if not self._ending.is_set():
            log.info("ending: %s", why)
            self._ending.set()

    async def _look(self) -> None:
        """Ends the daemon when nobody uses it, or when nobody could find it any more."""
        while True:
            await asyncio.sleep(min(LOOK_SECONDS, self._idle_seconds / 4))
            used = [client for client in self._clients if client.want != "control"]
            await self._host.rest(sessions=bool(used))
            if self._retiring:
                now = time.monotonic()
                for client in used:
                    if client.want in ("mcp", "lsp") and now - client.reader.heard > QUIET_SECONDS:
                        # Its bridge connects again, and finds the newer daemon.
                        client.task.cancel()
            if self._host.quiet_seconds and not used:
                if self._retiring:
                    self._end("retired")
                elif self._host.quiet_seconds > self._idle_seconds:
                    self._end("idle")
            if not self._claim.is_ours():
                self._end("the socket is gone")

    async def _retire_others(self) -> None:
        """Asks the daemons of other builds of this very package to end with their last client."""
        mine = str(self._hello["build"])

        def ask() -> int:
            asked = 0
            for running in daemons({**os.environ}):
                hello = running.hello
                if hello.get("package") == PACKAGE and hello.get("build") != mine:
                    with suppress(WireError):
                        control(Path(running.socket), "retire")
                        asked += 1
            return asked

        try:
            if asked := await asyncio.get_running_loop().run_in_executor(None, ask):
                log.info("asked %d daemons of other builds to retire", asked)
        except WireError as error:
            log.warning("cannot look for daemons of other builds: %s", error)


async def _send(writer: asyncio.StreamWriter, value: dict[str, Any]) -> None:
    writer.write(json.dumps(value).encode("utf-8") + b"\n")
    await writer.drain()


async def _line(reader: asyncio.StreamReader) -> dict[str, Any]:
    """The next line as an object. Raises _Wrong, ConnectionError at the end."""
    try:
        line = await reader.readline()
        if not line.endswith(b"\n"):
            raise ConnectionResetError("ended")
        found = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise _Wrong("that is no line of JSON, or one too long") from error
    if not isinstance(found, dict):
        raise _Wrong("that line is no JSON object")
    return found


def _text(hello: dict[str, Any], name: str) -> str | None:
    value = hello.get(name)
    if value is not None and (not isinstance(value, str) or "\0" in value):
        raise _Wrong(f"{name} must be a text")
    return value


def _environment(hello: dict[str, Any]) -> dict[str, str]:
    given = hello.get("environment") or {}
    if not isinstance(given, dict):
        raise _Wrong("environment must be an object")
    return {str(name): value for name, value in given.items() if isinstance(value, str)}


def _idle_seconds() -> float:
    try:
        return float(os.environ.get("TORCHTALK_IDLE_SECONDS") or read_idle_seconds(os.environ))
    except (ValueError, ConfigError) as error:
        log.warning("no idle time can be read (%s): the default is used", error)
        return 1800.0


def _mcp_front_end() -> Any:
    """Here, as it takes half a second and 50 MB that a command does not need."""
    gc.disable()
    try:
        from torchtalkd.frontends.mcp import serve
    finally:
        # What a library has made at its start is there for good: the collector need not look at it again.
        gc.freeze()
        gc.enable()
    return serve


def _lsp_front_end() -> Any:
    """As `_mcp_front_end`: nearly as much, and only for editors."""
    from torchtalkd.frontends.lsp import serve

    gc.freeze()
    return serve
