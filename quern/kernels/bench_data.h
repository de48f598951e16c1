// Buffers for benchmark cases: random f32 (no denormals, incompressible), touched once.
#pragma once
#include "quern/base/rng.h"
#include "quern/tensor/tensor.h"

namespace quern::kernels {

inline Tensor random_f32(Shape shape, uint64_t seed, double scale = 1) {
  Tensor t = Tensor::empty(std::move(shape), DType::f32);
  Rng rng(seed);
  for (float& x : t.span<float>()) x = static_cast<float>((2 * rng.uniform() - 1) * scale);
  return t;
}

}  // namespace quern::kernels
