#include <ATen/ATen.h>

namespace at::native {

template <int Tile>
C10_LAUNCH_BOUNDS_2(256, 4)
__global__ void mm_tiled_kernel(const float* a, const float* b, float* out, int64_t n) {
  int64_t row = blockIdx.y * Tile + threadIdx.y;
  int64_t column = blockIdx.x * Tile + threadIdx.x;
  float sum = 0;
  for (int64_t k = 0; k < n; ++k) {
    sum += a[row * n + k] * b[k * n + column];
  }
  out[row * n + column] = sum;
}

TORCH_IMPL_FUNC(mm_out_cuda)(const Tensor& self, const Tensor& mat2, const Tensor& result) {
  dim3 grid(result.size(1) / 16, result.size(0) / 16), block(16, 16);
  mm_tiled_kernel<16><<<grid, block, 0, at::cuda::getCurrentCUDAStream()>>>(
      self.const_data_ptr<float>(), mat2.const_data_ptr<float>(), result.mutable_data_ptr<float>(), self.size(1));
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

} // namespace at::native
