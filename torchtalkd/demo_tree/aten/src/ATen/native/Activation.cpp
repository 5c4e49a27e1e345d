#include <ATen/ATen.h>

namespace at::native {

Tensor relu(const Tensor& self) {
  return at::clamp_min(self, 0);
}

Tensor& relu_(Tensor& self) {
  return at::clamp_min_(self, 0);
}

} // namespace at::native
