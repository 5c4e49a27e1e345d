#include <ATen/native/UnaryOps.h>
#include <ATen/native/cuda/Loops.cuh>

namespace at::native {

void sigmoid_kernel_cuda(TensorIteratorBase& iter) {
  gpu_kernel(iter, [] GPU_LAMBDA(float a) -> float { return 1.0f / (1.0f + ::exp(-a)); });
}

void erf_kernel_cuda(TensorIteratorBase& iter) {
  gpu_kernel(iter, [] GPU_LAMBDA(float a) -> float { return ::erf(a); });
}

void gelu_kernel_cuda(TensorIteratorBase& iter, int64_t approximate) {
  gpu_kernel(iter, [approximate] GPU_LAMBDA(float a) -> float { return approximate ? a * 0.5f : a; });
}

REGISTER_DISPATCH(sigmoid_stub, &sigmoid_kernel_cuda)
REGISTER_DISPATCH(erf_stub, &erf_kernel_cuda)
REGISTER_DISPATCH(gelu_stub, &gelu_kernel_cuda)

} // namespace at::native
