// Table of fast activations on rows [begin, end); the bodies, activation_rows.h, are compiled once per instruction
// set. Cost: every operand read or written once; the functions (about 20 instructions per vector) take less time than
// the memory traffic out of cache.
#pragma once
#include <cstdint>

namespace quern::kernels {

struct ActivationRows {  // n: width of y (of gy in backward); gated: x rows are [gate ‖ up], y rows of backward too
  const float *x, *gy;
  float* y;
  int64_t x_stride, gy_stride, y_stride, n;
};

using ActivationBody = void (*)(const ActivationRows&, int64_t begin, int64_t end);
struct ActivationTable {  // [Activation][1: stored past the cache]
  ActivationBody activate[4][2], activate_backward[4][2], gated[4][2], gated_backward[4][2];
};
extern const ActivationTable activation_avx2, activation_avx512;

}  // namespace quern::kernels
