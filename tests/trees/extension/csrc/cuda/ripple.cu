#include <torch/library.h>
#include "../ops.h"

namespace waves {

template <typename T>
__global__ void ripple_kernel(const T* x, T* y, T speed, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    y[i] = x[i] * speed;
  }
}

torch::Tensor ripple_cuda(const torch::Tensor& x, double speed) {
  auto y = torch::empty_like(x);
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "ripple", [&] {
    ripple_kernel<scalar_t><<<(x.numel() + 255) / 256, 256>>>(
        x.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(), speed, x.numel());
  });
  return y;
}

} // namespace waves

TORCH_LIBRARY_IMPL(waves, CUDA, m) {
  m.impl("ripple", waves::ripple_cuda);
}
