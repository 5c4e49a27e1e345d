"""Questions about git objects, safely asked."""

from torchtalkd.vcs.git import Head, git_folders, head, is_linked_work_tree, toplevel

__all__ = ["Head", "git_folders", "head", "is_linked_work_tree", "toplevel"]
