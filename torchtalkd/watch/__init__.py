"""Notices that a tree changes, and says so in batches; never reads a file of it.

`watch` is the one function: its batches are hints (see `torchtalkd.changes`), which come from one
thread and in order. The tests are in `tests/test_watch.py` and `tests/test_settle.py`.
"""

from torchtalkd.watch.watch import Watch, watch

__all__ = ["Watch", "watch"]
