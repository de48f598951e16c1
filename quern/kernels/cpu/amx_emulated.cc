// amx.h in plain C++: the blocks, one instruction at a time.
#include <cstring>

#include "quern/base/cpu.h"
#include "quern/kernels/cpu/amx.h"

namespace quern::kernels {

void amx_dot_bf16_avx2(const uint8_t* a, int64_t a_row, const uint8_t* b, int64_t b_row, float* c);
void amx_dot_bf16_ref(const uint8_t* a, int64_t a_row, const uint8_t* b, int64_t b_row, float* c);
void amx_dot_bytes_avx2(const uint8_t* a, int64_t a_row, const uint8_t* b, int64_t b_row, int32_t* c);
void amx_dot_bytes_ref(const uint8_t* a, int64_t a_row, const uint8_t* b, int64_t b_row, int32_t* c);

void amx_dot_bf16(const uint8_t* a, int64_t a_row, const uint8_t* b, int64_t b_row, float* c) {
  (detected_isa() >= Isa::avx2 ? amx_dot_bf16_avx2 : amx_dot_bf16_ref)(a, a_row, b, b_row, c);
}

void amx_dot_bytes(const uint8_t* a, int64_t a_row, const uint8_t* b, int64_t b_row, int32_t* c) {
  (detected_isa() >= Isa::avx2 ? amx_dot_bytes_avx2 : amx_dot_bytes_ref)(a, a_row, b, b_row, c);
}

namespace {

void dot(const uint8_t* a, int64_t a_row, const uint8_t* b, int64_t b_row, float* c) {
  amx_dot_bf16(a, a_row, b, b_row, c);
}
void dot(const uint8_t* a, int64_t a_row, const uint8_t* b, int64_t b_row, int32_t* c) {
  amx_dot_bytes(a, a_row, b, b_row, c);
}

template <class Sum, int Strips, int Groups>
void block(const AmxBlock& t) {
  for (int i = 0; i < Strips; ++i)
    for (int j = 0; j < Groups; ++j) {
      Sum sums[256] = {};
      uint8_t* c = t.c + i * t.c_strip + j * kAmxTile;
      if (t.add) std::memcpy(sums, c, sizeof sums);
      for (int64_t s = 0; s < t.steps; ++s)
        dot(t.a + i * t.a_strip + s * t.a_step, t.a_row, t.b + j * t.b_tile + s * t.b_step, t.b_row, sums);
      std::memcpy(c, sums, sizeof sums);
    }
}

void to_tiles(const uint8_t* from, int64_t steps, uint8_t* to) {
  for (int64_t s = 0; s < steps; ++s, from += 4096, to += 4096)
    for (int64_t row = 0; row < 16; ++row)
      for (int64_t tile = 0; tile < 4; ++tile)
        std::memcpy(to + 1024 * tile + 64 * row, from + 256 * row + 64 * tile, 64);
}

void nothing() {}

}  // namespace

const AmxKernels& amx_kernels_emulated() {
  static constexpr AmxKernels table{{block<float, 2, 2>, block<float, 1, 2>, block<float, 1, 4>},
                                    {block<int32_t, 2, 2>, block<int32_t, 1, 2>, block<int32_t, 1, 4>},
                                    to_tiles,
                                    nothing,
                                    nothing};
  return table;
}

}  // namespace quern::kernels
