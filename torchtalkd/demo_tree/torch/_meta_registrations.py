"""Shapes of results, computed without data."""

import torch
from torch._decomp import register_decomposition

aten = torch.ops.aten


def register_meta(op):
    def wrapper(fn):
        return fn

    return wrapper


@register_meta([aten.mm.default, aten.mm.out])
def meta_mm(a, b):
    return a.new_empty(a.shape[0], b.shape[1])


@register_meta(aten.relu.default)
def meta_relu(self):
    return torch.empty_like(self)
