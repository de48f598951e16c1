// attention and attention_backward: checks of the arguments, and which version runs.
#include "quern/kernels/attention/attention.h"

#include "quern/base/error.h"
#include "quern/kernels/attention/attention_ref.h"

namespace quern::kernels {

template <class T, class KV>
void attention(View<const T, 3> q, std::span<const AttentionSegment<KV>> segments, AttentionOptions options,
               View<T, 3> o, View<T, 2> lse, Arena& scratch) {
  for (const auto& s : segments) {
    QUERN_CHECK(s.q_len <= s.k.shape[0] && s.k.shape[0] == s.v.shape[0], "{} queries, {} keys, {} values", s.q_len,
                s.k.shape[0], s.v.shape[0]);
    QUERN_CHECK(s.q_begin >= 0 && s.q_begin + s.q_len <= q.shape[0], "queries [{}, +{}) of {}", s.q_begin, s.q_len,
                q.shape[0]);
    if (s.q_len == 0) continue;
    QUERN_CHECK(s.k.shape[1] > 0 && q.shape[1] % s.k.shape[1] == 0 && s.v.shape[1] == s.k.shape[1],
                "{} query heads, {} key heads, {} value heads", q.shape[1], s.k.shape[1], s.v.shape[1]);
    QUERN_CHECK(s.k.shape[2] == q.shape[2] && s.v.shape[2] == o.shape[2], "head sizes q {} k {} v {} o {}",
                q.shape[2], s.k.shape[2], s.v.shape[2], o.shape[2]);
  }
  attention_ref<T, KV>(q, segments, options, o, lse, scratch);
}

template <class T>
void attention_backward(View<const T, 3> q, View<const T, 3> k, View<const T, 3> v, View<const T, 3> o,
                        View<const T, 2> lse, View<const T, 3> go, std::span<const int32_t> offsets,
                        AttentionOptions options, AttentionGrads<T> grads, Arena& scratch) {
  QUERN_CHECK(k.shape[1] > 0 && q.shape[1] % k.shape[1] == 0 && v.shape[1] == k.shape[1],
              "{} query heads, {} key heads, {} value heads", q.shape[1], k.shape[1], v.shape[1]);
  QUERN_CHECK(k.shape[2] == q.shape[2] && v.shape[2] == o.shape[2] && go.shape[2] == o.shape[2],
              "head sizes q {} k {} v {} o {} go {}", q.shape[2], k.shape[2], v.shape[2], o.shape[2], go.shape[2]);
  QUERN_CHECK(offsets.empty() || offsets.back() <= q.shape[0], "offsets end at {}, {} rows", offsets.back(),
              q.shape[0]);
  attention_backward_ref<T>(q, k, v, o, lse, go, offsets, options, grads, scratch);
}

template void attention<double, double>(View<const double, 3>, std::span<const AttentionSegment<double>>,
                                        AttentionOptions, View<double, 3>, View<double, 2>, Arena&);
template void attention<float, float>(View<const float, 3>, std::span<const AttentionSegment<float>>,
                                      AttentionOptions, View<float, 3>, View<float, 2>, Arena&);
template void attention<float, bf16>(View<const float, 3>, std::span<const AttentionSegment<bf16>>, AttentionOptions,
                                     View<float, 3>, View<float, 2>, Arena&);
template void attention_backward<double>(View<const double, 3>, View<const double, 3>, View<const double, 3>,
                                         View<const double, 3>, View<const double, 2>, View<const double, 3>,
                                         std::span<const int32_t>, AttentionOptions, AttentionGrads<double>, Arena&);
template void attention_backward<float>(View<const float, 3>, View<const float, 3>, View<const float, 3>,
                                        View<const float, 3>, View<const float, 2>, View<const float, 3>,
                                        std::span<const int32_t>, AttentionOptions, AttentionGrads<float>, Arena&);

}  // namespace quern::kernels
