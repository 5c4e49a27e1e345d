"""Questions about git objects, safely asked."""

from torchtalkd.vcs.git import Head, git_folders, head, toplevel

__all__ = ["Head", "git_folders", "head", "toplevel"]
