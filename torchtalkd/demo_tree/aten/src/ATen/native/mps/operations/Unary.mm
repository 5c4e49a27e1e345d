#include <ATen/native/UnaryOps.h>
#include <ATen/native/mps/OperationUtils.h>

namespace at::native {
namespace mps {

static void run_graph(const Tensor& self, const Tensor& output, const std::string& name) {
  @autoreleasepool {
    MPSGraph* graph = make_mps_graph();
    runMPSGraph(getCurrentMPSStream(), graph, self, output);
  }
}

static void sigmoid_kernel_mps(TensorIteratorBase& iter) {
  run_graph(iter.tensor(1), iter.tensor(0), "sigmoid");
}

} // namespace mps

Tensor relu_mps(const Tensor& self) {
  auto output = at::empty_like(self);
  mps::run_graph(self, output, "relu");
  return output;
}

TORCH_IMPL_FUNC(add_out_mps)
(const Tensor& self, const Tensor& other, const Scalar& alpha, const Tensor& output) {
  mps::run_graph(self, output, "add");
}

TORCH_IMPL_FUNC(mul_out_mps)(const Tensor& self, const Tensor& other, const Tensor& output) {
  mps::run_graph(self, output, "mul");
}

REGISTER_DISPATCH(sigmoid_stub, &mps::sigmoid_kernel_mps)

} // namespace at::native
