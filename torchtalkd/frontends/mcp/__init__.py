"""The agents' protocol (MCP): one connection of a client, served in the daemon.

Imported only when such a client connects, for the protocol's library takes half a second.
The tests are `tests/test_mcp.py`.
"""

from torchtalkd.frontends.mcp.serving import serve

__all__ = ["serve"]
