// Rows of an int8 KV cache: x ≈ s·q with one scale per token and head, s = max|x| / 127, q the nearest integer in −127
// … 127. An error is at most s/2, a 254th of the row's largest value. A row with an infinity or a NaN has it as its
// scale, and everything read through it is NaN.
#pragma once
#include <cstdint>

#include "quern/tensor/view.h"

namespace quern::kernels {

// x, q: [T, H, d], scale: [T, H].
void quantize_cache_rows(View<const float, 3> x, View<int8_t, 3> q, View<float, 2> scale);
void dequantize_cache_rows(View<const int8_t, 3> q, View<const float, 2> scale, View<float, 3> x);

}  // namespace quern::kernels
