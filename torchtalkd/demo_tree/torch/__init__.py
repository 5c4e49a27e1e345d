"""The Python face of the small tree."""

from torch import linalg, nn
from torch._C._VariableFunctions import *
from torch.functional import chain_matmul, norm_of

__all__ = ["absolute_scale", "chain_matmul", "linalg", "nn", "norm_of"]


def absolute_scale(x, factor):
    """A function with a body, on top of an operator."""
    return torch.ops.aten.fused_scale(x, abs(factor))
