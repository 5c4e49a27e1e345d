#include <ATen/native/BinaryOps.h>
#include <ATen/native/cuda/Loops.cuh>

namespace at::native {

template <typename scalar_t>
struct MulFunctor {
  __device__ __forceinline__ scalar_t operator()(scalar_t a, scalar_t b) const {
    return a * b;
  }
};

void mul_kernel_cuda(TensorIteratorBase& iter) {
  AT_DISPATCH_ALL_TYPES_AND_COMPLEX(iter.common_dtype(), "mul_cuda", [&]() {
    gpu_kernel(iter, MulFunctor<scalar_t>());
  });
}

REGISTER_DISPATCH(mul_stub, &mul_kernel_cuda)

} // namespace at::native
