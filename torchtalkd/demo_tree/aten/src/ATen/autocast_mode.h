#pragma once

#define KERNEL(DISPATCHKEY, OP, POLICY)           \
  m.impl(                                         \
      TORCH_SELECTIVE_NAME("aten::" #OP),         \
      &::at::autocast::WrapFunction<              \
          ::at::autocast::CastPolicy::POLICY,     \
          DISPATCHKEY,                            \
          decltype(ATEN_FN(OP)),                  \
          decltype(ATEN_FN(OP)),                  \
          &ATEN_FN(OP)>::type::call);

#define KERNEL2(DISPATCHKEY, OP, OVERLOAD, POLICY)         \
  m.impl(                                                  \
      TORCH_SELECTIVE_NAME("aten::" #OP "." #OVERLOAD),    \
      &::at::autocast::WrapFunction<                       \
          ::at::autocast::CastPolicy::POLICY,              \
          DISPATCHKEY,                                     \
          decltype(ATEN_FN2(OP, OVERLOAD)),                \
          decltype(ATEN_FN2(OP, OVERLOAD)),                \
          &ATEN_FN2(OP, OVERLOAD)>::type::call);

#define KERNEL_CUDA(OP, POLICY) KERNEL(c10::DeviceType::CUDA, OP, POLICY)
#define KERNEL_CUDA2(OP, OVERLOAD, POLICY) KERNEL2(c10::DeviceType::CUDA, OP, OVERLOAD, POLICY)
