"""Functions written in Python on top of the operators."""

import torch
from torch.nn import functional as F


def chain_matmul(*matrices):
    """The product of several matrices."""
    result = matrices[0]
    for matrix in matrices[1:]:
        result = torch.matmul(result, matrix)
    return result


def norm_of(x):
    """A norm after an activation."""
    return F.relu(x).norm()
