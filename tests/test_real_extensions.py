"""Extensions as published: what they register, against a plain scan; names followed down to kernels.

Each test takes one tree of `$TORCHTALK_TREES` and is skipped where that tree is missing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.bench.extensions import TREES, compared, untraced
from torchtalkd.conventions import detect, load
from torchtalkd.engine import build
from torchtalkd.queries.trace import trace
from torchtalkd.store.database import open_view
from torchtalkd.store.view import View

pytestmark = pytest.mark.real_tree

LARGE = {"vllm", "flash_attn"}
"""Trees that take half a minute to read."""
EXPLAINED = ("is not in the tree", "an enumerator")
"""Reasons for which a registration leads to no body: its source is fetched by the build; no function."""

NAMES = [
    # tree, name, what the trace passes
    ("vllm", "torch.ops._C.rms_norm", ["csrc/torch_bindings.cpp", "csrc/cpu/layernorm.cpp",
                                       "csrc/layernorm_kernels.cu", "vllm::rms_norm_kernel"]),
    ("vllm", "_C::rms_norm", ["_C::rms_norm", "csrc/cpu/torch_bindings.cpp"]),
    ("vllm", "rms_norm", ["_C::rms_norm", "vllm::rms_norm_kernel"]),
    ("vllm", "torch.ops._rocm_C.wvSplitK", ["csrc/rocm/skinny_gemms.cu", "wvSplitK_hf_sml_"]),
    ("vllm", "torch.ops._C_custom_ar.qr_all_reduce", ["csrc/rocm/quickreduce/custom_quickreduce.cu"]),
    ("vllm", "torch.ops._moe_C.topk_softmax", ["csrc/moe/topk_softmax_kernels.cu"]),
    ("vision", "torch.ops.torchvision.nms", ["torchvision/csrc/ops/cuda/nms_kernel.cu", "QuantizedCPU",
                                             "AutocastCUDA", "torchvision._meta_registrations.meta_nms"]),
    ("vision", "torchvision::deform_conv2d", ["vision::ops::DeformConv2dFunction", "Autograd",
                                              "vision::ops::DeformConv2dFunction::backward"]),
    ("vision", "torch.classes.torchvision.Video", ["vision::video::Video", "vision::video::Video::Next"]),
    ("vision", "torchvision._C", ["setup.py", "torchvision/csrc/ops/nms.cpp"]),
    ("flash_attn", "flash_attn_2_cuda.fwd", ["csrc/flash_attn/flash_api.cpp", "FLASH_NAMESPACE::mha_fwd",
                                             "FLASH_NAMESPACE::flash_fwd_kernel", "mha_fwd"]),
    ("mamba_ssm", "selective_scan_cuda.fwd", ["selective_scan_fwd", "selective_scan_fwd_kernel"]),
    ("causal_conv1d", "causal_conv1d_cuda.causal_conv1d_fwd", ["causal_conv1d_fwd_kernel"]),
    ("torch_scatter", "segment_sum_coo", ["SegmentSumCOO", "SegmentSumCOO::forward",
                                          "csrc/cuda/segment_coo_cuda.cu"]),
    ("torch_sparse", "torch.ops.torch_sparse.spmm_sum", ["SPMMSum", "csrc/cuda/spmm_cuda.cu"]),
    ("torch_cluster", "torch.ops.torch_cluster.fps", ["csrc/cuda/fps_cuda.cu"]),
    ("deepspeed", "fused_adam.multi_tensor_adam", ["multi_tensor_adam_cuda",
                                                   "csrc/adam/multi_tensor_adam.cu"]),
    ("deepspeed", "dc.cleanup", ["dc::cleanup"]),
    ("xformers", "torch.ops.xformers.sparse24_apply", ["xformers/csrc/sparse24/sparse24_apply.cu"]),
]  # fmt: skip


@pytest.fixture(scope="module")
def indexes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the indexes of this module's tests are."""
    return tmp_path_factory.mktemp("indexes")


@contextmanager
def indexed(trees: Path, indexes: Path, name: str) -> Iterator[View]:
    """A view of a tree's index, made when it is first wanted."""
    root = trees / name
    if not root.is_dir():
        pytest.skip(f"TORCHTALK_TREES has no {name}")
    folder = indexes / name
    if not folder.is_dir():
        folder.mkdir()
        build(root, folder, load(next(iter(detect(root)), "torch-extension"), tree=root))
    with open_view(folder) as view:
        yield view


@pytest.mark.parametrize(
    "name", [n if n not in LARGE else pytest.param(n, marks=pytest.mark.full) for n in TREES]
)
def test_every_registration_is_found_and_nothing_else(trees: Path, indexes: Path, name: str) -> None:
    with indexed(trees, indexes, name) as view:
        found = compared(view, trees / name)
        asked, without = untraced(view)
    assert found.sites
    assert (found.missing, found.extra) == ([], [])
    assert asked
    assert [
        one for one in without if not one.reason.endswith(EXPLAINED[0]) and EXPLAINED[1] not in one.reason
    ] == []


@pytest.mark.parametrize(
    ("name", "asked", "expected"),
    [pytest.param(*row, marks=pytest.mark.full) if row[0] in LARGE else row for row in NAMES],
)
def test_names_lead_to_kernels(
    trees: Path, indexes: Path, name: str, asked: str, expected: list[str]
) -> None:
    with indexed(trees, indexes, name) as view:
        answer = trace(view, asked)
    said = {text for i in answer.items for text in (i.symbol, i.file, i.dispatch_key)}
    said.update(subject.name for subject in answer.subjects)
    assert [text for text in expected if text not in said] == []
