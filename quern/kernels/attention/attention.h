// Attention for MHA, GQA and MQA: query head h reads key/value head h / (Hq / Hkv).
//   o_i = Σ_j softmax_j(q_i·k_j · scale) v_j over the keys j that query i may see.
// A segment is one sequence (or one document of a packed row): its queries are the LAST q_len of its k_len keys, so
// query i sees keys 0 … k_len − q_len + i, and with window > 0 only the newest `window` of them (itself included).
// With Sight::both (encoders) it sees all keys, and with window > 0 those at most `window` away from its own.
// Head sizes of k and v may differ. Forward is tiled with an online softmax: memory O(tile), never T×T; it saves
// lse[T, Hq] = log Σ exp for backward. Decode (q_len = 1) streams the cache once per key/value head group.
// Cost: 4·d·Hq flops per visible (query, key) pair forward, 2.5 × that backward.
#pragma once
#include <cstdint>
#include <span>

#include "quern/base/arena.h"
#include "quern/base/bf16.h"
#include "quern/tensor/view.h"

namespace quern::kernels {

// KV: float, double, bf16 or int8_t (cache type). k: [k_len, Hkv, d], v: [k_len, Hkv, dv]. Of int8_t, row j of head g
// is k(j, g, ·) times k_scale(j, g), and v likewise; scales: [k_len, Hkv].
template <class KV>
struct AttentionSegment {
  int64_t q_begin = 0, q_len = 0;
  View<const KV, 3> k, v;
  View<const float, 2> k_scale = {}, v_scale = {};
};

enum class Sight : uint8_t { causal, both };

// Scores that depend on where query and key stand: s_j += bias(i, j), before the softmax.
class ScoreBias {
 public:
  virtual ~ScoreBias() = default;
  struct Span {
    int64_t segment, head;     // segment: its q_begin
    int64_t query, key, keys;  // within the segment: one query, keys [key, key + keys)
    float factor;              // of the bias
  };
  virtual void add(const Span& at, float* s) const = 0;
};

struct AttentionOptions {
  double scale = 1;
  int64_t window = 0;      // 0 = all
  bool bf16_math = false;  // products in bf16 with f32 accumulation, where they are faster (kernels/cpu/products.h)
  Sight sight = Sight::causal;
  const ScoreBias* bias = nullptr;  // forward only; as many keys as queries
};

// q: [T, Hq, d], o: [T, Hq, dv], lse: [T, Hq] (may be null).  T, KV: double,double · float,float ·
// float,bf16 · float,int8_t.
template <class T, class KV>
void attention(View<const T, 3> q, std::span<const AttentionSegment<KV>> segments, AttentionOptions options,
               View<T, 3> o, View<T, 2> lse, Arena& scratch);

// Which version float queries run under active_isa() when the most query rows that share a key/value head
// (q_len · Hq / Hkv) are so many.
enum class AttentionPath { ref, decode, prefill };
AttentionPath attention_path(int64_t rows_per_head);

// Without a cache: k and v lie in the same token rows as q, segments given by offsets.
template <class T>
struct AttentionGrads {
  View<T, 3> gq, gk, gv;  // written
};
template <class T>
struct AttentionBackwardArgs {
  View<const T, 3> q, k, v, o;       // [T, Hq, d], [T, Hkv, d], [T, Hkv, dv], [T, Hq, dv]
  View<const T, 2> lse;              // [T, Hq]
  View<const T, 3> go;               // [T, Hq, dv]
  std::span<const int32_t> offsets;  // of the segments' rows
  AttentionOptions options;
  AttentionGrads<T> grads;  // like q, k and v
};
template <class T>
void attention_backward(const AttentionBackwardArgs<T>& a, Arena& scratch);

}  // namespace quern::kernels
