#include <ATen/native/BinaryOps.h>
#include <ATen/native/cpu/Loops.h>

namespace at::native {
namespace {

void mul_kernel(TensorIteratorBase& iter) {
  AT_DISPATCH_ALL_TYPES_AND_COMPLEX(iter.common_dtype(), "mul_cpu", [&]() {
    cpu_kernel(iter, [](scalar_t a, scalar_t b) -> scalar_t { return a * b; });
  });
}

} // namespace

REGISTER_DISPATCH(mul_stub, &mul_kernel)

} // namespace at::native
