// What the softmax attention mixers share: rotary settings (rotary.h), the KV cache, and attention on a tape. q [T, Hq, d], k and
// v [T, Hkv, d] of this call's tokens; with states, k and v are appended to parts "k" and "v" of the site and attention
// runs over everything the sequence has seen. A cache holds f64, f32, bf16, or int8 with one scale per token and head,
// in parts "k_scale" and "v_scale" (kernels/attention/cache_q8.h).
#pragma once
#include <vector>

#include "quern/mixers/mixer.h"
#include "quern/mixers/ranks/rotary.h"

namespace quern::mixers {

struct AttendOptions {
  double scale = 1;
  int64_t window = 0;
  bool bf16_math = false;
};

// Throws Error naming the mixer unless the sizes make sense together: what both mixers' configurations ask of them.
void check_heads(const char* mixer, int64_t width, int64_t n_head, int64_t n_head_kv, int64_t head_dim,
                 int64_t rotary_dims);

// Parts "k" and "v"; of a cache in 8 bits (DType::i8) also "k_scale" and "v_scale".
std::vector<StatePart> kv_parts(int64_t n_head_kv, int64_t head_dim, int64_t window, DType kv);

// The cache of one sequence at a site, and its scales where it is in 8 bits.
struct CachedRows {
  Tensor k, v, k_scale, v_scale;  // [keys, Hkv, d], [keys, Hkv, dv], [keys, Hkv, 1]
};
CachedRows cached_rows(const SequenceState& state, int site);
View<float, 2> scales_of(const Tensor& scales);  // [keys, Hkv] as kernels take it; none of an undefined one
// Of new rows k [n, Hkv, d], v [n, Hkv, dv]: behind what is there, in the cache's own type.
void append_rows(SequenceState& state, int site, const Tensor& k, const Tensor& v);
// Rows [begin, begin + n) of a cache as numbers of `type`.
Tensor wide_rows(const Tensor& rows, const Tensor& scale, int64_t begin, int64_t n, DType type);

struct AttentionHeads {
  grad::Var q_THd, k_THd, v_THd;  // [T, Hq, d], [T, Hkv, d], [T, Hkv, dv]
};
grad::Var attend(grad::Tape& tape, const AttentionHeads& heads, const Batch& batch, int site, AttendOptions options);

}  // namespace quern::mixers
