#include <ATen/native/BinaryOps.h>

namespace at::meta {

TORCH_META_FUNC2(add, Tensor)
(const Tensor& self, const Tensor& other, const Scalar& alpha) {
  build_borrowing_binary_op(maybe_get_output(), self, other);
  native::alpha_check(dtype(), alpha);
}

TORCH_META_FUNC2(mul, Tensor)(const Tensor& self, const Tensor& other) {
  build_borrowing_binary_op(maybe_get_output(), self, other);
}

} // namespace at::meta

namespace at::native {

DEFINE_DISPATCH(mul_stub);

TORCH_IMPL_FUNC(mul_out)
(const Tensor& self, const Tensor& other, const Tensor& result) {
  mul_stub(device_type(), *this);
}

} // namespace at::native
