#pragma once

#include <torch/torch.h>

namespace waves {

torch::Tensor ripple_cpu(const torch::Tensor& x, double speed);
torch::Tensor ripple_cuda(const torch::Tensor& x, double speed);
torch::Tensor& damp(torch::Tensor& x, const torch::Tensor& by);

struct RippleFunction : public torch::autograd::Function<RippleFunction> {
  static torch::Tensor forward(torch::autograd::AutogradContext* ctx, const torch::Tensor& x, double speed);
  static torch::autograd::variable_list backward(
      torch::autograd::AutogradContext* ctx, torch::autograd::variable_list grads);
};

} // namespace waves
