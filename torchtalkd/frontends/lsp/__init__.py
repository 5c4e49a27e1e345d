"""The server for editors (Language Server Protocol): the only place that knows pygls and lsprotocol.

`serving` keeps the wire and the life of a connection, `server` says what the server can do; what
each request means is in the modules for navigation, symbols, hierarchies, hints and problems.
`documents` holds the editor's texts. The tests are `tests/test_lsp*.py`.
"""

from torchtalkd.frontends.lsp.serving import serve

__all__ = ["serve"]
