"""Waves on tensors."""

import torch

from waves import _C


def ripple(x, speed=1.0):
    """A wave, by the operator."""
    return torch.ops.waves.ripple(x, speed)


@torch.library.register_fake("waves::ripple")
def _ripple_fake(x, speed=1.0):
    return torch.empty_like(x)
