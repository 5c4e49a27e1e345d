#include <torch/csrc/stable/library.h>

namespace waves {

torch::stable::Tensor fourier(torch::stable::Tensor x) {
  return x;
}

} // namespace waves

STABLE_TORCH_LIBRARY_FRAGMENT(waves, m) {
  m.def("fourier(Tensor x) -> Tensor");
}

STABLE_TORCH_LIBRARY_IMPL(waves, CompositeExplicitAutograd, m) {
  m.impl("fourier", TORCH_BOX(&waves::fourier));
}
