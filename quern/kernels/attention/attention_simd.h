// The parts of attention that are not matrix products, one table per instruction set. Scores are in units of log2 (the
// scale times log2 e is folded into q), so that exp is a bare 2^x.
#pragma once
#include <cstdint>

namespace quern::kernels {

constexpr int kKeyTile = 128;      // keys between two rescalings of o: two panels of 64
constexpr float kMasked = -1e30f;  // finite, so that masked − masked is 0 and not NaN

// Online softmax of a few rows: s ← 2^(s − m') over the visible columns, l ← l·c + Σ, o ← o·c with c = 2^(m − m').
// Columns [0, columns) of s (rounded up to 16) are read; row i sees [first + i·step, end + i·step). p may be null:
// then s is overwritten in f32, else the rounded values go to p (bf16). Rows may lie in groups of 16 columns (of p: 32)
// that are `group` elements apart, as matrix tiles want them.
struct SoftmaxTile {
  float* s = nullptr;
  int64_t s_row = 0, s_group = 16;
  uint16_t* p = nullptr;
  int64_t p_row = 0, p_group = 32;
  float* o = nullptr;
  int64_t o_row = 0, o_group = 16;
  float *m = nullptr, *l = nullptr;
  int rows = 0, columns = 0, width = 0;  // width of o, a multiple of 16
  int64_t first = 0, end = 0, step = 1;
  int64_t limit = int64_t{1} << 62;  // no row sees columns from here on
};

// Backward of one tile of rows × 64 keys: p = 2^(s − lse2), g = p ∘ (dp − delta).
// f32: s ← p, dp ← g. bf16 (g16 not null): g16 [rows, 64] row-major, and p_pairs, g_pairs [rows / 2, 64] of pairs of
// neighboring rows. Row i sees columns [first + i, end + i).
struct GradientTile {
  float *s = nullptr, *dp = nullptr;  // [rows, 64], or in groups of 16 columns as matrix tiles have them
  int64_t row = 64, group = 16;
  const float *lse2 = nullptr, *delta = nullptr;
  uint16_t* g16 = nullptr;
  uint32_t *p_pairs = nullptr, *g_pairs = nullptr;
  int rows = 0;
  int64_t first = 0, end = 0;
};

enum class CacheRows : uint8_t { f32, bf16, q8 };

// The decode step of the query rows of one key head against some of its keys, read where they lie.
struct DecodeTile {
  const float* q = nullptr;  // [rows][d]
  int64_t q_row = 0;
  int rows = 0;
  const void *k = nullptr, *v = nullptr;  // [keys][d], [keys][dv]
  CacheRows k_rows = CacheRows::f32, v_rows = CacheRows::f32;
  const float *k_scale = nullptr, *v_scale = nullptr;  // q8: [kDecodeKeys], zero past the last key
  bool bf16_math = false;  // q and s may be rounded to bf16, where the instruction set multiplies bf16
  int64_t k_row = 0, v_row = 0, keys = 0, d = 0, dv = 0;  // row strides in elements; d and dv multiples of 16
  float* s = nullptr;                                     // [rows][keys]
  int64_t s_row = 0;
  float* o = nullptr;  // [rows][dv]
  int64_t o_row = 0;
};
constexpr int kFetchAhead = 64;                                // keys; by software, in the forms that widen to f32
constexpr int64_t kDecodeKeys = 512;                           // of a tile, at most
constexpr int64_t kMaxDecodeRows = 16, kMaxDecodeWidth = 512;  // of the forms that round queries first

struct AttentionKernels {
  void (*softmax)(const SoftmaxTile&);
  void (*gradient)(const GradientTile&);
  void (*scale)(const float* x, float f, int64_t n, int64_t n_pad, float* y);  // y = f·x, zero up to n_pad
  void (*widen)(const uint16_t* x, int64_t n, int64_t n_pad, float* y);
  void (*widen_q8)(const int8_t* x, float f, int64_t n, int64_t n_pad, float* y);  // y = f·x
  float (*dot)(const float* a, const float* b, int64_t n);
  void (*scores)(const DecodeTile&);  // s = q·kᵀ
  void (*values)(const DecodeTile&);  // o += s·v
};

const AttentionKernels& attention_kernels_avx2();
const AttentionKernels& attention_kernels_avx512();
const AttentionKernels& attention_kernels_avx512bf16();

}  // namespace quern::kernels
