"""Modules: state with a forward function."""

from torch.nn import functional as F


class Linear:
    """y = x A^T + b"""

    def __init__(self, weight, bias=None):
        self.weight, self.bias = weight, bias

    def forward(self, input):
        return F.linear(input, self.weight, self.bias)
