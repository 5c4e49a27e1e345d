"""The lines that an MCP client writes, for the tests that speak to a server without an SDK."""

from __future__ import annotations

import json
from typing import Any


def line(**message: Any) -> bytes:
    """A JSON-RPC message as it stands on the wire."""
    return json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"


def call(number: object, tool: str, **arguments: Any) -> bytes:
    """A call of a tool."""
    return line(id=number, method="tools/call", params={"name": tool, "arguments": arguments})


INITIALIZE = line(
    id=0,
    method="initialize",
    params={"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
)
INITIALIZED = line(method="notifications/initialized")
