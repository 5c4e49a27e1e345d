#include <ATen/ATen.h>

namespace at::native {

Tensor view(const Tensor& self, at::IntArrayRef size) {
  return alias_with_sizes_and_strides(self, size);
}

Tensor roll(const Tensor& self, IntArrayRef shifts, IntArrayRef dims) {
  return at::cat({self.narrow(dims[0], shifts[0], 1), self}, dims[0]);
}

Tensor fused_scale(const Tensor& self, double factor) {
#ifdef USE_FAST_SCALE
  return scale_fast(self, factor);
#else
  return self * factor;
#endif
}

} // namespace at::native
