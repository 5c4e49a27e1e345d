"""How is another process of this package started? The daemon, and those that work for it, are such.

It runs the package of whoever starts it, installed or not, and looks for everything else as Python does,
so that a module of ours cannot hide one of another package.
"""

from __future__ import annotations

import os
import sys

from torchtalkd.run_folder import PACKAGE


def own_process(module: str, *words: str, argument: str = "") -> list[str]:
    """The command that runs `main` of one of our modules, with an argument in Python's spelling; `words`
    are its `sys.argv`."""
    code = (
        f"import sys; sys.path.insert(0, {os.path.dirname(PACKAGE)!r}); import torchtalkd;"
        f" sys.path.append(sys.path.pop(0)); from torchtalkd.{module} import main; main({argument})"
    )
    return [sys.executable, "-P", "-c", code, *words]
