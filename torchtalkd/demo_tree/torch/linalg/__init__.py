"""Linear algebra: names bound to operators whose name begins with linalg_."""

from torch._C import _add_docstr, _linalg

det = _add_docstr(
    _linalg.linalg_det,
    r"""
linalg.det(A) -> Tensor

The determinant of a square matrix.
""",
)
