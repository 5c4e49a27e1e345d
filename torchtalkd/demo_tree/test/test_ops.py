"""Tests of the operators of the small tree."""

import torch
from torch.testing._internal.common_methods_invocations import op_db


class TestCommon:
    def test_matmul(self):
        a = torch.ones(2, 2)
        assert torch.matmul(a, a).sum() == 8

    def test_all(self):
        for op in op_db:
            op(torch.ones(2))
