// What one tile instruction computes (amx.h), in plain C++; included by files of different instruction sets, so
// everything is in an anonymous namespace.
#pragma once
#include <cstdint>
#include <cstring>

namespace {

inline float of_bits(uint32_t u) {
  float f;
  std::memcpy(&f, &u, sizeof f);
  return f;
}

inline float flushed(float x) {  // a subnormal counts as zero of its sign
  uint32_t u;
  std::memcpy(&u, &x, sizeof u);
  return of_bits((u & 0x7f800000u) == 0 ? u & 0x80000000u : u);
}

inline void dot_bf16(const uint8_t* a, int64_t a_row, const uint8_t* b, int64_t b_row, float* c) {
  for (int m = 0; m < 16; ++m, a += a_row, c += 16) {
    float even[16] = {}, odd[16] = {};
    for (int p = 0; p < 16; ++p) {
      uint32_t pair, columns[16];
      std::memcpy(&pair, a + 4 * p, sizeof pair);
      std::memcpy(columns, b + p * b_row, sizeof columns);
      const float first = flushed(of_bits(pair << 16)), second = flushed(of_bits(pair & 0xffff0000u));
#pragma omp simd
      for (int n = 0; n < 16; ++n) {
        even[n] = flushed(__builtin_fmaf(first, flushed(of_bits(columns[n] << 16)), even[n]));
        odd[n] = flushed(__builtin_fmaf(second, flushed(of_bits(columns[n] & 0xffff0000u)), odd[n]));
      }
    }
#pragma omp simd
    for (int n = 0; n < 16; ++n) c[n] = flushed(flushed(c[n]) + flushed(even[n] + odd[n]));
  }
}

inline void dot_bytes(const uint8_t* a, int64_t a_row, const uint8_t* b, int64_t b_row, int32_t* c) {
  for (int m = 0; m < 16; ++m, a += a_row, c += 16)
    for (int p = 0; p < 16; ++p) {
      int8_t columns[64];
      std::memcpy(columns, b + p * b_row, sizeof columns);
      for (int n = 0; n < 16; ++n) {
        int32_t sum = 0;
        for (int i = 0; i < 4; ++i) sum += int32_t{a[4 * p + i]} * int32_t{columns[4 * n + i]};
        c[n] = static_cast<int32_t>(static_cast<uint32_t>(c[n]) + static_cast<uint32_t>(sum));
      }
    }
}

}  // namespace
