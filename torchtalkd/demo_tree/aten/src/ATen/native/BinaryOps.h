#pragma once

#include <ATen/native/DispatchStub.h>

namespace at {
struct TensorIteratorBase;
}

namespace at::native {

using structured_binary_fn = void (*)(TensorIteratorBase&);

DECLARE_DISPATCH(structured_binary_fn, mul_stub)

} // namespace at::native
