// The functions that the formulas of derivatives.yaml name.
#include <torch/csrc/autograd/FunctionsManual.h>

namespace torch::autograd::generated::details {

Tensor handle_r_to_c(ScalarType self_st, Tensor gradient_result) {
  if (!at::isComplexType(self_st) && gradient_result.is_complex()) {
    return at::real(gradient_result);
  }
  return gradient_result;
}

Tensor maybe_multiply(const Tensor& t, const Scalar& s) {
  return s.equal(1) ? t : at::mul(t, s);
}

template <typename T>
Tensor mul_tensor_backward(const Tensor& grad, T other, ScalarType self_st) {
  return handle_r_to_c(self_st, grad * other.conj());
}

Tensor mm_mat1_backward(const Tensor& grad, const Tensor& mat2) {
  return grad.mm(mat2.t().conj());
}

Tensor mm_mat2_backward(const Tensor& grad, const Tensor& mat1) {
  return mat1.t().conj().mm(grad);
}

} // namespace torch::autograd::generated::details
