#include <ATen/native/UnaryOps.h>

namespace at::meta {

#define CREATE_UNARY_FLOAT_META_FUNC(func)                  \
  TORCH_META_FUNC(func) (const Tensor& self) {              \
    build_borrowing_unary_float_op(maybe_get_output(), self); \
  }

CREATE_UNARY_FLOAT_META_FUNC(sigmoid)
CREATE_UNARY_FLOAT_META_FUNC(erf)

} // namespace at::meta

namespace at::native {

#define CREATE_UNARY_TORCH_IMPL_FUNC(func_out, func_stub)                \
  TORCH_IMPL_FUNC(func_out) (const Tensor& self, const Tensor& result) { \
    func_stub(device_type(), *this);                                     \
  }

CREATE_UNARY_TORCH_IMPL_FUNC(sigmoid_out, sigmoid_stub)
CREATE_UNARY_TORCH_IMPL_FUNC(erf_out, erf_stub)

DEFINE_DISPATCH(sigmoid_stub);
DEFINE_DISPATCH(erf_stub);
DEFINE_DISPATCH(gelu_stub);

Tensor gelu(const Tensor& self, c10::string_view approximate) {
  auto iter = TensorIterator::unary_op({}, self);
  gelu_stub(iter.device_type(), iter, static_cast<int64_t>(approximate == "tanh"));
  return iter.output();
}

Tensor gelu_fallback(const Tensor& self, c10::string_view approximate) {
  return self * at::sigmoid(self * 1.702);
}

} // namespace at::native
