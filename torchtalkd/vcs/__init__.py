"""Questions about git objects, safely asked."""

from torchtalkd.vcs.git import Head, head, toplevel

__all__ = ["Head", "head", "toplevel"]
