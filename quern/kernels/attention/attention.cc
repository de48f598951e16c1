// attention and attention_backward: argument checks and dispatch.
#include "quern/kernels/attention/attention.h"

#include <algorithm>
#include <vector>

#include "quern/base/cpu.h"
#include "quern/base/error.h"
#include "quern/kernels/attention/attention_fast.h"
#include "quern/kernels/attention/attention_ref.h"
#include "quern/kernels/cpu/products.h"
#include "quern/trace/trace.h"

namespace quern::kernels {
namespace {

template <class KV>
AttentionPath path_of(int64_t query_heads, const AttentionSegment<KV>& s) {
  return attention_path(s.q_len * (query_heads / s.k.shape[1]));
}

// Every segment takes the path of its own length, so that its result does not depend on the segments beside it.
template <class KV>
void attention_fast(View<const float, 3> q, std::span<const AttentionSegment<KV>> segments, AttentionOptions options,
                    View<float, 3> o, View<float, 2> lse, Arena& scratch) {
  const bool causal = options.sight == Sight::causal && !options.bias;
  std::vector<AttentionSegment<KV>> few, many;
  for (const auto& s : segments)
    if (s.q_len > 0) (causal && path_of(q.shape[1], s) == AttentionPath::decode ? few : many).push_back(s);
  if (!few.empty()) attention_decode<KV>(q, few, options, o, lse, scratch);
  if (!many.empty()) attention_prefill<KV>(q, many, options, o, lse, scratch);
}

}  // namespace

const AttentionKernels& attention_kernels() {
  QUERN_CHECK(active_isa() != Isa::ref);
  if (active_isa() == Isa::avx2) return attention_kernels_avx2();
  return has_avx512_bf16() ? attention_kernels_avx512bf16() : attention_kernels_avx512();
}

bool attention_bf16(AttentionOptions o) { return o.bf16_math && bf16_products() == Bf16Products::vdpbf16; }

// Up to 16 query rows share a key head: one pass over the cache as it lies is cheaper than packing it for tiles
// (packing costs about as much as 16 rows of products).
AttentionPath attention_path(int64_t rows_per_head) {
  constexpr int64_t kDecodeRows = 16;
  if (active_isa() == Isa::ref) return AttentionPath::ref;
  return rows_per_head <= kDecodeRows ? AttentionPath::decode : AttentionPath::prefill;
}

namespace {

// (query, key) pairs that are visible, for one head.
double visible_pairs(int64_t queries, int64_t keys, const AttentionOptions& o) {
  double pairs = 0;
  for (int64_t i = 0; i < queries; ++i) {
    const int64_t own = keys - queries + i;
    const bool both = o.sight == Sight::both;
    const int64_t first = o.window == 0 ? 0 : std::max<int64_t>(0, both ? own - o.window : own - o.window + 1);
    const int64_t last = !both ? own : o.window == 0 ? keys - 1 : std::min(keys - 1, own + o.window);
    pairs += static_cast<double>(last - first + 1);
  }
  return pairs;
}

void trace_attention(double pairs, const std::array<int64_t, 3>& q, int64_t value_size, double passes) {
  trace::count(passes * 2 * pairs * static_cast<double>(q[1] * (q[2] + value_size)), 0);
}

}  // namespace

template <class T, class KV>
void attention(View<const T, 3> q, std::span<const AttentionSegment<KV>> segments, AttentionOptions options,
               View<T, 3> o, View<T, 2> lse, Arena& scratch) {
  for (const auto& s : segments) {
    QUERN_CHECK(s.q_len <= s.k.shape[0] && s.k.shape[0] == s.v.shape[0], "{} queries, {} keys, {} values", s.q_len,
                s.k.shape[0], s.v.shape[0]);
    QUERN_CHECK(s.q_begin >= 0 && s.q_begin + s.q_len <= q.shape[0], "queries [{}, +{}) of {}", s.q_begin, s.q_len,
                q.shape[0]);
    if (s.q_len == 0) continue;
    if (trace::recording()) trace_attention(visible_pairs(s.q_len, s.k.shape[0], options), q.shape, o.shape[2], 1);
    QUERN_CHECK(s.k.shape[1] > 0 && q.shape[1] % s.k.shape[1] == 0 && s.v.shape[1] == s.k.shape[1],
                "{} query heads, {} key heads, {} value heads", q.shape[1], s.k.shape[1], s.v.shape[1]);
    QUERN_CHECK(s.k.shape[2] == q.shape[2] && s.v.shape[2] == o.shape[2], "head sizes q {} k {} v {} o {}",
                q.shape[2], s.k.shape[2], s.v.shape[2], o.shape[2]);
    if constexpr (std::is_same_v<KV, int8_t>)
      QUERN_CHECK(s.k_scale.shape[0] == s.k.shape[0] && s.k_scale.shape[1] == s.k.shape[1] &&
                      s.v_scale.shape[0] == s.k.shape[0] && s.v_scale.shape[1] == s.k.shape[1],
                  "scales of {} and {} rows for {} keys", s.k_scale.shape[0], s.v_scale.shape[0], s.k.shape[0]);
  }
  if constexpr (std::is_same_v<T, float>)
    if (active_isa() != Isa::ref) return attention_fast<KV>(q, segments, options, o, lse, scratch);
  attention_ref<T, KV>(q, segments, options, o, lse, scratch);
}

template <class T>
void attention_backward(const AttentionBackwardArgs<T>& a, Arena& scratch) {
  QUERN_CHECK(a.k.shape[1] > 0 && a.q.shape[1] % a.k.shape[1] == 0 && a.v.shape[1] == a.k.shape[1],
              "{} query heads, {} key heads, {} value heads", a.q.shape[1], a.k.shape[1], a.v.shape[1]);
  QUERN_CHECK(a.k.shape[2] == a.q.shape[2] && a.v.shape[2] == a.o.shape[2] && a.go.shape[2] == a.o.shape[2],
              "head sizes q {} k {} v {} o {} go {}", a.q.shape[2], a.k.shape[2], a.v.shape[2], a.o.shape[2],
              a.go.shape[2]);
  QUERN_CHECK(a.offsets.empty() || a.offsets.back() <= a.q.shape[0], "offsets end at {}, {} rows", a.offsets.back(),
              a.q.shape[0]);
  QUERN_CHECK(a.options.sight == Sight::causal && !a.options.bias, "backward of causal attention only");
  for (size_t s = 0; trace::recording() && s + 1 < a.offsets.size(); ++s) {
    const int64_t n = a.offsets[s + 1] - a.offsets[s];
    trace_attention(visible_pairs(n, n, a.options), a.q.shape, a.o.shape[2], 2.5);
  }
  if constexpr (std::is_same_v<T, float>)
    if (active_isa() != Isa::ref) return attention_backward_fast(a, scratch);
  attention_backward_ref<T>(a, scratch);
}

template void attention<double, double>(View<const double, 3>, std::span<const AttentionSegment<double>>,
                                        AttentionOptions, View<double, 3>, View<double, 2>, Arena&);
template void attention<float, float>(View<const float, 3>, std::span<const AttentionSegment<float>>,
                                      AttentionOptions, View<float, 3>, View<float, 2>, Arena&);
template void attention<float, bf16>(View<const float, 3>, std::span<const AttentionSegment<bf16>>, AttentionOptions,
                                     View<float, 3>, View<float, 2>, Arena&);
template void attention<float, int8_t>(View<const float, 3>, std::span<const AttentionSegment<int8_t>>,
                                       AttentionOptions, View<float, 3>, View<float, 2>, Arena&);
template void attention_backward<double>(const AttentionBackwardArgs<double>&, Arena&);
template void attention_backward<float>(const AttentionBackwardArgs<float>&, Arena&);

}  // namespace quern::kernels
