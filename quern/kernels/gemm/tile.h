// The inner loop of every dense matrix product (PackedLinear, gemm, attention):
//   C[rows, 16·groups] (+)= Σ_k A[i, k] · B[k, :]       rows ≤ 6, groups ≤ 4
// A is read one element at a time (broadcast), so it may be transposed in memory; rows of B and C are contiguous. f32:
// an element is a float. bf16: an element of A and of B is a pair (k, k+1) in 32 bits, k counts pairs. widened: B
// holds such pairs and k counts them, A holds floats; products are f32. Why 6 × 4 registers: 24 accumulators + 4 of B
// + 1 broadcast = 29 of 32, and 24 independent chains cover latency 6 × 2 per cycle = 12; each k step loads 4 + 6
// times for 24 products, under the limit of one load per cycle. AVX2 has 16 registers: 6 × 2, a group (16 columns) at
// a time.
#pragma once
#include <cstdint>

namespace quern::kernels {

struct Tile {
  const void* a = nullptr;
  int64_t a_row = 0, a_k = 1;  // in elements
  const void* b = nullptr;
  int64_t b_k = 0;  // in elements
  float* c = nullptr;
  int64_t c_row = 0;
  int64_t k = 0;
  int rows = 0, groups = 0;
  bool add = false;
  // Fetched into the second-level cache alongside: prefetch_lines lines of 64 bytes (0, 1 or 2) every k step.
  const char* prefetch = nullptr;
  int prefetch_lines = 0;
};

// Finished sums that lie as tiles [4][16][16] (amx_product.h), as rows: y[r, c] = sum·(unit·scale[c]) + bias[c], or
// added to y. Null: no scale, no bias.
struct FromTiles {
  const float* sums = nullptr;
  int64_t rows = 0, columns = 0;  // ≤ 16, ≤ 64
  const float *scale = nullptr, *bias = nullptr;
  float unit = 1;
  bool add = false;
  float* y = nullptr;
  int64_t y_row = 0;
};

constexpr int kTileRows = 6;
constexpr int kTileColumns = 64;

struct TileKernels {
  const char* name;  // what a bench or test prints: "avx512", "avx512bf16", "avx2"
  // Groups that registers take at once. With many rows, B is read fastest where as many lie close together (b_k =
  // 16·step_groups) and all rows pass them before the next: then they stay in the first-level cache.
  int step_groups;
  void (*f32)(const Tile&);
  void (*bf16)(const Tile&);
  void (*widened)(const Tile&);
  // y[0, n) = x rounded to bf16; y[n, n_pad) = 0.
  void (*to_bf16)(const float* x, int64_t n, int64_t n_pad, uint16_t* y);
  // The same values as floats.
  void (*rounded)(const float* x, int64_t n, int64_t n_pad, float* y);
  // y[i] = the pair (even[i], odd[i]), rounded to bf16.
  void (*pair)(const float* even, const float* odd, int64_t n, uint32_t* y);
  // dst[j, i] = src[i, j] of 32-bit elements: src [rows, columns], dst [columns, ≥ rows]. Columns of dst past rows
  // are not written.
  void (*transpose)(const uint32_t* src, int64_t src_row, int64_t rows, int64_t columns, uint32_t* dst,
                    int64_t dst_row);
  void (*from_tiles)(const FromTiles&);
};

const TileKernels& tile_kernels_avx2();
const TileKernels& tile_kernels_avx512();
const TileKernels& tile_kernels_avx512bf16();
const TileKernels& tile_kernels_avx512bf16_fma();
const TileKernels& tile_kernels();  // of active_isa(), which must not be ref

}  // namespace quern::kernels
