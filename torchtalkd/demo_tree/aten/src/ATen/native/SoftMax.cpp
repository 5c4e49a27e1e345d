#include <ATen/ATen.h>

namespace at::native {

Tensor softmax(const Tensor& input, const int64_t dim, std::optional<ScalarType> dtype) {
  return at::_softmax(dtype ? input.toType(*dtype) : input, dim, false);
}

Tensor softmax_cpu(const Tensor& input, const int64_t dim, const bool half_to_float) {
  return (input - input.amax(dim, true)).exp();
}

} // namespace at::native
