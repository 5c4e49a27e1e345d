"""One entry for each operator that the tests go through."""

from torch.testing._internal.opinfo.core import BinaryUfuncInfo, OpInfo, UnaryUfuncInfo

op_db = [
    BinaryUfuncInfo("add", aliases=("plus",), supports_out=True),
    BinaryUfuncInfo("mul", aliases=("multiply",)),
    UnaryUfuncInfo("sigmoid", aliases=("special.expit", "nn.functional.sigmoid")),
    OpInfo("matmul"),
    OpInfo("nn.functional.gelu", aten_name="gelu"),
    OpInfo("linalg.det", aten_name="linalg_det"),
]
