// Table of fast low-rank products; the bodies, low_rank_body.h, are compiled once per instruction set.
#pragma once
#include <cstdint>

namespace quern::kernels {

struct LowRankBlock {  // some rows with one pair of factors
  const float* x;      // [rows, k]
  const void *a, *b;   // [rank, a_stride], [rank, b_stride]: zeros behind k and n
  float *low, *y;      // [rows, rank] and [rows, n]
  int64_t x_stride, a_stride, b_stride, y_stride;
  int64_t rows, k, n, rank;
  float scale;
};

using LowRankBody = void (*)(const LowRankBlock&, int64_t begin, int64_t end);
struct LowRankTable {     // [1: factors in bf16]
  LowRankBody reduce[2];  // low = scale·x·Aᵀ of ranks [begin, end)
  LowRankBody expand[2];  // y += low·Bᵀ of columns [begin, end), begin a multiple of 64
};
extern const LowRankTable low_rank_avx2, low_rank_avx512;

}  // namespace quern::kernels
