// The inner loops of quantised products, one table an instruction set. Raw sums: the column scale S comes later.
// q8 sums are 2²⁴ times too large: a byte is used where it lies at the top of its 32 bits.
#pragma once
#include <cstdint>

namespace quern::kernels {

// A few rows against one panel: y[rows][64] = Σ_k x·(q·2²⁴ | e·(u − z)).
struct QuantRows {
  const uint8_t* panel = nullptr;
  int64_t blocks = 0;
  int64_t group = 0;        // q4
  bool asymmetric = false;  // q4
  const void* x = nullptr;  // pairs of bf16, or floats that bf16 can hold, or bytes (int8), as the table says
  int64_t x_row = 0;        // in 32-bit elements
  const float* x_sums = nullptr;
  int64_t sums_row = 0;  // Σ of x over each group; only where the table or a zero point needs them
  float* y = nullptr;
  int rows = 1;
};

// Rows of int8 against one panel of q8: sums[rows][64], exact.
struct Int8Rows {
  const uint8_t* panel = nullptr;
  int64_t blocks = 0;
  const uint8_t* x = nullptr;  // q + 128, four bytes a block
  int64_t x_row = 0;           // in bytes
  const int32_t* column_sums = nullptr;
  int32_t* sums = nullptr;
  int rows = 1;  // ≤ 6
};

struct QuantKernels {
  int q8_rows, q4_rows;  // rows a direct kernel takes at most; more are unpacked and multiplied by tiles
  bool q4_pairs;         // the q4 kernel reads x as pairs of bf16 (else floats; q8 reads floats)
  bool q4_sums;          // it always needs x_sums
  void (*q8)(const QuantRows&);
  void (*q4)(const QuantRows&);
  void (*q8a8)(const Int8Rows&);
  // Blocks as bf16 pairs for the tiles of gemm/tile.h: to[k / 2][64], the same sums as above.
  void (*unpack_q8)(const uint8_t* from, int64_t blocks, uint32_t* to);
  void (*unpack_q4)(const uint8_t* from, int64_t blocks, int64_t group, bool asymmetric, uint32_t* to);
  void (*widen)(const uint16_t* from, int64_t n, float* to);  // n a multiple of 16
};

extern const QuantKernels quant_avx2, quant_avx512, quant_avx512bf16;

}  // namespace quern::kernels
