"""Which Python module or class does a PyMethodDef table fill?"""

from __future__ import annotations

from torchtalkd.conventions.values import Cpp


def python_name_of(cpp: Cpp, path: str, table: str) -> str:
    """The dotted Python name for the table `table` of the file `path`; '' when unknown.

    Several files call their table `methods`: an entry `path:table` goes before `table`.
    """
    return cpp.python_names.get(f"{path}:{table}") or cpp.python_names.get(table, "")
