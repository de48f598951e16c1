// Table of fast AdamW updates; kernels/vec_math.h explains the raw pointers.
#pragma once
#include <cstdint>

namespace quern::optim {

struct AdamWStep {
  float *w, *m, *v;
  const float* g;
  float beta1, beta2, eps, keep, step, root, grad_scale;  // w = keep·w − step·m/(√v·root + ε)
};

struct AdamWTable {
  void (*update)(const AdamWStep&, int64_t n);
};
extern const AdamWTable adamw_avx2, adamw_avx512;

}  // namespace quern::optim
