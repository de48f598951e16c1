// Inner loops of quantized matrix multiplication, one table per instruction set. They return raw sums: the column
// scale S is applied later. q8 sums are 2²⁴ times too large: a byte is used where it lies, at the top of its 32 bits.
// A table either multiplies rows of floats by whole panels (a few rows; more are dequantized for the tiles), or row
// blocks of up to 16 rows by spans of panels.
#pragma once
#include <cstdint>

namespace quern::kernels {

// A few rows against one panel: y[rows][64] = Σ_k x·(q·2²⁴ | e·(u − z)).
struct QuantRows {
  const uint8_t* panel = nullptr;
  int64_t blocks = 0;
  int64_t group = 0;         // q4
  bool asymmetric = false;   // q4
  const float* x = nullptr;  // that bf16 can hold
  int64_t x_row = 0;
  const float* x_sums = nullptr;  // q4: Σ of x over each group
  int64_t sums_row = 0;
  float* y = nullptr;
  int rows = 1;
};

// Rows of int8 against one panel of q8: sums[rows][64], exact.
struct Int8Rows {
  const uint8_t* panel = nullptr;
  int64_t blocks = 0;
  const uint8_t* x = nullptr;  // q + 128, four bytes a block
  int64_t x_row = 0;           // in bytes
  int32_t* sums = nullptr;
  int rows = 1;  // ≤ 6
};

// A strip of rows against blocks of one panel: y[rows][64] += the same sums. Elements of x are pairs of bf16 (k, k +
// 1), or four bytes q + 128 (k … k + 3) for q8a8, whose sums are then 128·Σ_k q too large.
struct QuantRowBlock {
  static constexpr int kRows = 16;
  // Elements from one k to the next: few rows lie close together, more get a line of 64 bytes.
  static constexpr int64_t x_line(int64_t rows) { return rows <= 4 ? rows : kRows; }

  const uint8_t* from = nullptr;
  int64_t blocks = 0;
  int64_t group = 0;              // q4
  bool asymmetric = false;        // q4
  const uint32_t* x = nullptr;    // [k][x_line]
  const float* x_sums = nullptr;  // asymmetric: Σ of x over each group, [group][kRows]
  float* y = nullptr;
  int32_t* sums = nullptr;              // in place of y for q8a8
  const float* fixed_scales = nullptr;  // quant_fixed.h
  const int32_t* fixed_sums = nullptr;
  const uint8_t* next = nullptr;  // as many blocks, fetched alongside
  int rows = 1;
};

// Blocks of one panel as floats, to[k][64] unless told otherwise.
struct QuantToFloats {
  const uint8_t* from = nullptr;
  int64_t blocks = 0;
  int64_t group = 0;  // q4
  bool four = false, asymmetric = false;
  const float* scales = nullptr;  // S of every column, for W itself; null: without it, q8 2²⁴ times too large
  float* to = nullptr;
  int64_t to_k = 64, to_group = 16;  // from one k to the next, from 16 columns to the next
};

struct QuantToFixed;

struct QuantKernels {
  // Blocks as bf16 pairs for the tiles of gemm/tile.h: to[k / 2][64], the same sums as above.
  void (*unpack_q8)(const uint8_t* from, int64_t blocks, uint32_t* to);
  void (*unpack_q4)(const uint8_t* from, int64_t blocks, int64_t group, bool asymmetric, uint32_t* to);
  void (*to_floats)(const QuantToFloats&);
  // to[n] = 128 + round(127·x / max|x|), to[n … n_pad) = 128; returns max|x|.
  float (*to_int8)(const float* x, int64_t n, int64_t n_pad, uint8_t* to);

  int q8_rows = 0, q4_rows = 0;  // at most
  void (*q8)(const QuantRows&) = nullptr;
  void (*q4)(const QuantRows&) = nullptr;
  void (*q8a8)(const Int8Rows&) = nullptr;

  void (*q8_row_block)(const QuantRowBlock&) = nullptr;
  void (*q4_row_block)(const QuantRowBlock&) = nullptr;
  void (*q8a8_row_block)(const QuantRowBlock&) = nullptr;

  // Up to kFixedRows rows as fixed point (quant_fixed.h).
  void (*to_fixed)(QuantToFixed) = nullptr;
  void (*q8_fixed)(const QuantRowBlock&) = nullptr;
  void (*q4_fixed)(const QuantRowBlock&) = nullptr;
};

extern const QuantKernels quant_avx2, quant_avx512, quant_avx512vnni, quant_avx512bf16;
const QuantKernels& quant_kernels();  // of active_isa(), which must not be ref

}  // namespace quern::kernels
