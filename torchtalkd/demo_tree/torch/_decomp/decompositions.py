"""Operators written in terms of other operators."""

import torch
from torch._decomp import register_decomposition

aten = torch.ops.aten


@register_decomposition(aten.gelu)
def gelu(self, approximate="none"):
    return self * torch.erf(self)


@register_decomposition([aten.roll.default, aten.roll.out])
def roll(self, shifts, dims=()):
    return torch.cat((self, self))
