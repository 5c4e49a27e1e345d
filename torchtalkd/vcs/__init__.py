"""Questions about git objects, safely asked."""

from torchtalkd.vcs.ancestry import nearest_ancestor
from torchtalkd.vcs.contents import Contents, contents
from torchtalkd.vcs.git import Head, git_folders, head, is_linked_work_tree, toplevel

__all__ = [
    "Contents",
    "Head",
    "contents",
    "git_folders",
    "head",
    "is_linked_work_tree",
    "nearest_ancestor",
    "toplevel",
]
