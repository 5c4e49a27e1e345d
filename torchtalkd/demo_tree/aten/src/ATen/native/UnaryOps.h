#pragma once

#include <ATen/native/DispatchStub.h>

namespace at::native {

using unary_fn = void (*)(TensorIteratorBase&);

DECLARE_DISPATCH(unary_fn, sigmoid_stub)
DECLARE_DISPATCH(unary_fn, erf_stub)
DECLARE_DISPATCH(void (*)(TensorIteratorBase&, int64_t), gelu_stub)

} // namespace at::native
