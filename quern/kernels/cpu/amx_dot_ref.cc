// amx_dot.h for this file's instruction set (its flags come from its name).
#include "quern/kernels/cpu/amx_dot.h"

namespace quern::kernels {
void amx_dot_bf16_ref(const uint8_t* a, int64_t a_row, const uint8_t* b, int64_t b_row, float* c) {
  dot_bf16(a, a_row, b, b_row, c);
}
void amx_dot_bytes_ref(const uint8_t* a, int64_t a_row, const uint8_t* b, int64_t b_row, int32_t* c) {
  dot_bytes(a, a_row, b, b_row, c);
}
}  // namespace quern::kernels
