// Which operators run in another precision below torch.autocast.
#include <ATen/autocast_mode.h>
#include <torch/library.h>

namespace at::autocast {

TORCH_LIBRARY_IMPL(_, Autocast, m) {
  m.fallback(torch::CppFunction::makeFallthrough());
}

TORCH_LIBRARY_IMPL(aten, AutocastCUDA, m) {
  KERNEL_CUDA(matmul, lower_precision_fp)
  KERNEL_CUDA(mm, lower_precision_fp)
  KERNEL_CUDA2(softmax, int, fp32)
}

} // namespace at::autocast
