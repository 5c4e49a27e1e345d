#include <ATen/ATen.h>

namespace at::native {

Tensor roll_cuda(const Tensor& self, IntArrayRef shifts, IntArrayRef dims) {
  return self.clone();
}

} // namespace at::native
