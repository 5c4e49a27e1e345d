#include <torch/library.h>
#include "ops.h"

namespace waves {

torch::Tensor ripple_cpu(const torch::Tensor& x, double speed) {
  return x * speed;
}

torch::Tensor ripple_autograd(const torch::Tensor& x, double speed) {
  return RippleFunction::apply(x, speed);
}

} // namespace waves

TORCH_LIBRARY(waves, m) {
  m.def("ripple(Tensor x, float speed=1.0) -> Tensor");
  m.def("damp.Tensor(Tensor(a!) x, Tensor by) -> Tensor(a!)", &waves::damp);
  m.def(
      "ripple.out(Tensor x, float speed=1.0, *, "
      "Tensor(a!) out) -> Tensor(a!)");
}

TORCH_LIBRARY_IMPL(waves, CPU, lib) {
  lib.impl("ripple", &waves::ripple_cpu);
}

TORCH_LIBRARY_IMPL(waves, Autograd, m) {
  m.impl(TORCH_SELECTIVE_NAME("waves::ripple"), TORCH_FN(waves::ripple_autograd));
}

TORCH_LIBRARY_FRAGMENT(waves, m) {
  m.def("settle(Tensor x) -> Tensor", [](const torch::Tensor& x) { return x.clone(); });
}
