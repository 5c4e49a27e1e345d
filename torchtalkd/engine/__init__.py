"""Keeps the store equal to the tree: `build` is the one way to write it."""

from torchtalkd.engine.engine import BuildResult, build
from torchtalkd.engine.gather import Progress, TreeError
from torchtalkd.engine.worker import Limits
from torchtalkd.engine.workers import WorkersFailed

__all__ = ["BuildResult", "Limits", "Progress", "TreeError", "WorkersFailed", "build"]
