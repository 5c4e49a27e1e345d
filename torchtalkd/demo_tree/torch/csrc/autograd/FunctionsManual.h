#pragma once

#include <ATen/ATen.h>

namespace torch::autograd::generated::details {

Tensor handle_r_to_c(ScalarType self_st, Tensor gradient_result);
Tensor maybe_multiply(const Tensor& t, const Scalar& s);
template <typename T>
Tensor mul_tensor_backward(const Tensor& grad, T other, ScalarType self_st);
Tensor mm_mat1_backward(const Tensor& grad, const Tensor& mat2);
Tensor mm_mat2_backward(const Tensor& grad, const Tensor& mat1);

} // namespace torch::autograd::generated::details
