"""The CLI's requests: one function for each command, from parsed arguments to an exit code.

A command asks and prints; it decides nothing. Answers go to stdout, remarks and progress to
stderr. The tests are in `tests/test_cli.py`.
"""
