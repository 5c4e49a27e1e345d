"""The documentation of the methods of Tensor."""

import torch._C
from torch._C import _add_docstr as add_docstr


def add_docstr_all(method, docstr):
    add_docstr(getattr(torch._C.TensorBase, method), docstr)


add_docstr_all("view", "view(*shape) -> Tensor")
add_docstr_all("mul_", "mul_(value) -> Tensor")
