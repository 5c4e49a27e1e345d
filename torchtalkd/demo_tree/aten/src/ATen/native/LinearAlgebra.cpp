#include <ATen/ATen.h>

namespace at::meta {

TORCH_META_FUNC(mm)(const Tensor& self, const Tensor& mat2) {
  TORCH_CHECK(self.dim() == 2, "self must be a matrix");
  set_output_raw_strided(0, {self.sizes()[0], mat2.sizes()[1]}, {}, self.options());
}

} // namespace at::meta

namespace at::native {

static Tensor fold_batches(const Tensor& self, const Tensor& other) {
  return at::mm(self.flatten(0, -2), other);
}

Tensor matmul(const Tensor& self, const Tensor& other) {
  if (self.dim() == 2 && other.dim() == 2) {
    return self.mm(other);
  }
  return fold_batches(self, other);
}

TORCH_IMPL_FUNC(mm_out_cpu)(const Tensor& self, const Tensor& mat2, const Tensor& result) {
  gemm_blocked(self, mat2, result);
}

Tensor linear(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias_opt) {
  auto output = at::matmul(input, weight.t());
  return bias_opt.has_value() ? output.add_(*bias_opt) : output;
}

Tensor linalg_det(const Tensor& A) {
  return std::get<0>(at::_linalg_det(A));
}

Tensor det(const Tensor& self) {
  return at::linalg_det(self);
}

} // namespace at::native
