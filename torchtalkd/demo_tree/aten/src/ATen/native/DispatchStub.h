#pragma once

// One function pointer for each backend, chosen when it is called.
namespace at::native {

template <typename FnPtr, typename T>
struct DispatchStub;

} // namespace at::native

#define DECLARE_DISPATCH(fn, name)             \
  struct name##_DECLARE_DISPATCH_type : DispatchStub<fn, name##_DECLARE_DISPATCH_type> {}; \
  extern TORCH_API struct name##_DECLARE_DISPATCH_type name;

#define DEFINE_DISPATCH(name) struct name##_DECLARE_DISPATCH_type name
