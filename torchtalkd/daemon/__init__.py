"""The resident daemon of one user: it holds the roots, and each front end is a client of it.

Wiring and lifetimes only. `main` starts it, `server` talks to clients, `host` holds the trees,
`tree` keeps one index fresh and answers from it, `keeper` is the process that writes indexes.
"""
