"""Modules and their functions."""

from torch.nn import functional
from torch.nn.modules import Linear
