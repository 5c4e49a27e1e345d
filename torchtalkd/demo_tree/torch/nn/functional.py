"""The functional interface: wrappers, and names bound to operators as they are."""

import torch
from torch._torch_docs import _add_docstr


def relu(input, inplace=False):
    """Rectified linear unit."""
    if inplace:
        return torch.relu_(input)
    return torch.relu(input)


def softmax(input, dim=None, _stacklevel=3, dtype=None):
    """Softmax over a dimension."""
    if dtype is None:
        return input.softmax(dim)
    return input.softmax(dim, dtype=dtype)


def sigmoid(input):
    """The logistic function."""
    return input.sigmoid()


gelu = _add_docstr(
    torch._C._nn.gelu,
    r"""
gelu(input, approximate='none') -> Tensor

Gaussian error linear unit.
""",
)

linear = _add_docstr(torch._C._nn.linear, "linear(input, weight, bias=None) -> Tensor")
