"""The documentation of functions that have no Python body."""

import torch._C
from torch._C import _add_docstr as add_docstr

add_docstr(
    torch.add,
    r"""
add(input, other, *, alpha=1, out=None) -> Tensor

Adds other, scaled by alpha, to input.
""",
)

add_docstr(
    torch.matmul,
    r"""
matmul(input, other) -> Tensor

The product of two tensors.
""",
)

add_docstr(torch.mul, "mul(input, other, *, out=None) -> Tensor")
