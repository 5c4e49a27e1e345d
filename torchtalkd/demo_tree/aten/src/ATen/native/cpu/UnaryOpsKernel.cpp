#include <ATen/native/UnaryOps.h>

namespace at::native {
inline namespace CPU_CAPABILITY {

static void sigmoid_kernel(TensorIteratorBase& iter) {
  AT_DISPATCH_FLOATING_TYPES(iter.common_dtype(), "sigmoid_cpu", [&]() {
    cpu_kernel(iter, [](scalar_t a) -> scalar_t { return 1 / (1 + std::exp(-a)); });
  });
}

#define STATIC_IMPLEMENT_VML_KERNEL(op)                         \
  static void op##_kernel(TensorIteratorBase& iter) {           \
    AT_DISPATCH_FLOATING_TYPES(iter.dtype(), #op "_vml", [&] {  \
      vml::v##op(iter);                                         \
    });                                                         \
  }

STATIC_IMPLEMENT_VML_KERNEL(erf)

void gelu_kernel(TensorIteratorBase& iter, int64_t approximate) {
  cpu_kernel(iter, [approximate](float x) { return approximate ? x * 0.5f : x; });
}

} // namespace CPU_CAPABILITY

REGISTER_DISPATCH(sigmoid_stub, &CPU_CAPABILITY::sigmoid_kernel)
REGISTER_DISPATCH(erf_stub, &CPU_CAPABILITY::erf_kernel)
ALSO_REGISTER_AVX512_DISPATCH(gelu_stub, &CPU_CAPABILITY::gelu_kernel)

} // namespace at::native
