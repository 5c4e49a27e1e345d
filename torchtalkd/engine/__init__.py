"""Keeps the store equal to the tree: `build` and `update` are the ways to write it."""

from torchtalkd.engine.engine import BuildResult, build, update
from torchtalkd.engine.gather import Progress, TreeError
from torchtalkd.engine.worker import Limits
from torchtalkd.engine.workers import Spare, WorkersFailed

__all__ = ["BuildResult", "Limits", "Progress", "Spare", "TreeError", "WorkersFailed", "build", "update"]
