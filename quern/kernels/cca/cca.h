// Fused CCA between its projections and attention, for inference, in one pass over the tokens:
//   u = depthwise(z);  s = grouped(u) + q/k mean of z;  q, k = scale · t · s/‖s‖ per head;  rotary positions
// A work item is one head of one tile of tokens: its rows go from z to q or k inside the second-level cache, in one
// parallel region, where the separate kernels (conv.h, norm.h, rope.h) write and read five [T, C] arrays. Head-major u
// makes a convolution window of t1 rows contiguous: the grouped convolution of a head is then a plain matrix product
// [rows, t1·d]·[t1·d, d] on overlapping rows, without a gather. Shapes: z [T, C], C = (n_head + n_head_kv)·d, query
// heads first; history = max(t0−1, 0) + max(t1−1, 0) rows. Cost: 2·C·(t0 + t1·d) flops per token; reads z and writes
// q, k once. f32 only: training and double run the separate kernels. ZAYA1 sizes, 2048 tokens, two Zen 4 cores: 9.8 ms
// against 17 ms separately; 64 tokens: 0.43 against 1.6 ms.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "quern/base/arena.h"
#include "quern/kernels/gemm/gemm.h"
#include "quern/kernels/rope/rope.h"
#include "quern/tensor/view.h"

namespace quern::kernels {

struct CcaLatentShape {
  int64_t n_head = 0, n_head_kv = 0, head_dim = 0;
  bool qk_mean = true;
  double scale = 1, l2_eps = 0;
  RopePairing pairing = RopePairing::half;
};

struct CcaLatentWeights {
  View<const float, 2> depthwise;       // [C, t0]; null: without it
  View<const float, 1> depthwise_bias;  // [C]; null
  std::vector<PackedLinear>
      grouped;  // a head each, [d, t1·d] with taps outermost (cca_pack_grouped); empty: without it
  View<const float, 1> grouped_bias;  // [C]; null
  View<const float, 1> temperature;   // [n_head_kv]; null: 1
};

// w [C, d, t1] (tap 0 the oldest) as CcaLatentWeights::grouped wants it, in f32.
std::vector<PackedLinear> cca_pack_grouped(View<const float, 3> w);

struct CcaLatent {
  View<const float, 2> z;                     // rows may be strided
  std::span<const int32_t> offsets;           // rows of each segment
  std::vector<View<const float, 2>> history;  // [history, C] rows before each segment; empty: zeros
  View<const float, 2> cos, sin;              // [T, rotary_dims / 2]; null: no positions
  View<float, 3> q, k;                        // [T, n_head, d], [T, n_head_kv, d], written
};
void cca_latent(const CcaLatentShape& shape, const CcaLatentWeights& w, const CcaLatent& a);

// The q/k mean coupling alone, added into out. With G = n_head / n_head_kv and h in group j:
//   mq[h] = ½(q[h] + k[j]);  mk[j] = ½(mean of the group's q + k[j])
template <class T>
void add_qk_mean(View<const T, 3> z_THd, int64_t n_head, View<T, 3> out_THd);
template <class T>
void add_qk_mean_backward(View<const T, 3> g_THd, int64_t n_head, View<T, 3> gz_THd);

}  // namespace quern::kernels
