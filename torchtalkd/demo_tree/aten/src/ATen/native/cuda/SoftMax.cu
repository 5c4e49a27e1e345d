#include <ATen/ATen.h>

namespace at::native {
namespace {

__global__ void softmax_forward_kernel(const float* input, float* output, int classes) {
  output[threadIdx.x] = ::exp(input[threadIdx.x]) / classes;
}

Tensor host_softmax(const Tensor& input, int64_t dim) {
  auto output = at::empty_like(input);
  softmax_forward_kernel<<<1, 1024>>>(
      input.const_data_ptr<float>(), output.mutable_data_ptr<float>(), input.size(dim));
  return output;
}

} // namespace

Tensor softmax_cuda(const Tensor& input, const int64_t dim, const bool half_to_float) {
  return host_softmax(input, dim);
}

} // namespace at::native
