// Layers are written once for f32 and f64: with_float(dtype, []<class T>() { … }).
#pragma once
#include "quern/tensor/tensor.h"

namespace quern::nn {

template <class F>
decltype(auto) with_float(DType t, F&& f) {
  QUERN_CHECK(t == DType::f32 || t == DType::f64, "activations are {}", dtype_name(t));
  return t == DType::f64 ? f.template operator()<double>() : f.template operator()<float>();
}

}  // namespace quern::nn
