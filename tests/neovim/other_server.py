"""Another language server, for tests of two in one buffer: answers definition and hover everywhere.

`python other_server.py FILE LINE` sends definition to that line of that file. Ends at the end of stdin.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any


def read() -> Any:
    """The next message; None at the end."""
    length = 0
    while line := sys.stdin.buffer.readline().strip():
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    return json.loads(sys.stdin.buffer.read(length)) if length else None


def main() -> None:
    """Answers until the client is gone."""
    place = {"line": int(sys.argv[2]) - 1, "character": 0}
    answers = {
        "initialize": {"capabilities": {"definitionProvider": True, "hoverProvider": True}},
        "textDocument/definition": {
            "uri": Path(sys.argv[1]).as_uri(),
            "range": {"start": place, "end": place},
        },
        "textDocument/hover": {"contents": {"kind": "plaintext", "value": "the other server's words"}},
    }
    while message := read():
        if "id" in message and "method" in message:
            answer = {"jsonrpc": "2.0", "id": message["id"], "result": answers.get(message["method"])}
            body = json.dumps(answer).encode()
            sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
            sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
