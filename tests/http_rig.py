"""The agents' bridge behind HTTP, for a conformance suite that speaks nothing else.

Each session of a client (`Mcp-Session-Id`) is one bridge; a request goes in as a line and its answer comes
out as a body. Server to client there is only what a request's answer brings.
"""

from __future__ import annotations

import json
import subprocess
import threading
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Session:
    """One bridge."""

    def __init__(self, command: Sequence[str]) -> None:
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._turn = threading.Lock()

    def ask(self, message: dict[str, Any]) -> dict[str, Any] | None:
        """The answer to a request; None for what wants none."""
        assert self.process.stdin is not None and self.process.stdout is not None
        with self._turn:
            self.process.stdin.write(json.dumps(message).encode() + b"\n")
            self.process.stdin.flush()
            while message.get("id") is not None and (line := self.process.stdout.readline()):
                found = json.loads(line)
                if found.get("id") == message["id"]:
                    assert isinstance(found, dict)
                    return found
        return None

    def end(self) -> None:
        """Ends the bridge as a client does."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait(30)
        self.process.stdout.close()


@contextmanager
def http_rig(command: Sequence[str]) -> Iterator[str]:
    """The URL of a server, for as long as it runs, that starts `command` for each session."""
    sessions: dict[str, Session] = {}

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            message = json.loads(body)
            name = self.headers.get("Mcp-Session-Id") or uuid.uuid4().hex
            if name not in sessions:
                sessions[name] = Session(command)
            answer = sessions[name].ask(message)
            data = json.dumps(answer).encode() if answer is not None else b""
            self.send_response(200 if data else 202)
            self.send_header("Mcp-Session-Id", name)
            if data:
                self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def do_GET(self) -> None:
            self.send_error(405)

        def do_DELETE(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    running = threading.Thread(target=server.serve_forever)
    running.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/mcp"
    finally:
        server.shutdown()
        running.join()
        server.server_close()
        for session in sessions.values():
            session.end()
