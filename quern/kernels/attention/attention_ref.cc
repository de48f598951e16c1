// Attention by its definition, one query and one head at a time, sums in double.
//   forward:  s_j = q·k_j·scale, lse = log Σ exp s_j, o = Σ exp(s_j − lse) v_j
//   backward: p_j = exp(s_j − lse), δ = go·o, gs_j = p_j (go·v_j − δ), gv_j += p_j go, gq = scale Σ gs_j k_j,
//             gk_j += scale gs_j q
#include "quern/kernels/attention/attention_ref.h"

#include <algorithm>
#include <cmath>

#include "quern/base/error.h"
#include "quern/base/threads.h"

namespace quern::kernels {
namespace {

template <class A, class B>
double dot(const A* a, const B* b, int64_t n) {
  double s = 0;
  for (int64_t i = 0; i < n; ++i) s += static_cast<double>(a[i]) * static_cast<double>(static_cast<float>(b[i]));
  return s;
}
double dot(const double* a, const double* b, int64_t n) {
  double s = 0;
  for (int64_t i = 0; i < n; ++i) s += a[i] * b[i];
  return s;
}
double wide(double x) { return x; }
double wide(float x) { return static_cast<double>(x); }
double wide(bf16 x) { return static_cast<double>(static_cast<float>(x)); }
double wide(int8_t x) { return x; }

// What row j of a head is to be multiplied with.
template <class KV>
double scale_of(View<const float, 2> scales, int64_t j, int64_t head) {
  if constexpr (std::is_same_v<KV, int8_t>) return static_cast<double>(scales(j, head));
  return 1;
}

// The first and the last key that the query whose own key is `own` sees.
std::pair<int64_t, int64_t> visible_to(int64_t own, int64_t k_len, const AttentionOptions& o) {
  if (o.sight == Sight::causal) return {o.window > 0 ? std::max<int64_t>(0, own - o.window + 1) : 0, own};
  if (o.window == 0) return {0, k_len - 1};
  return {std::max<int64_t>(0, own - o.window), std::min(k_len - 1, own + o.window)};
}

int64_t first_visible(int64_t last, int64_t window) {
  return window > 0 ? std::max<int64_t>(0, last - window + 1) : 0;
}

}  // namespace

template <class T, class KV>
void attention_ref(View<const T, 3> q, std::span<const AttentionSegment<KV>> segments, AttentionOptions opt,
                   View<T, 3> o, View<T, 2> lse, Arena& scratch) {
  int64_t hq = q.shape[1], d = q.shape[2], dv = o.shape[2], longest = 0;
  for (const auto& s : segments) longest = std::max(longest, s.k.shape[0]);
  Arena::Scope scope(scratch);
  std::span<double> p = scratch.take<double>(longest), sum = scratch.take<double>(dv);
  for (const auto& seg : segments) {
    int64_t k_len = seg.k.shape[0], group = hq / seg.k.shape[1];
    for (int64_t i = 0; i < seg.q_len; ++i)
      for (int64_t h = 0; h < hq; ++h) {
        const int64_t t = seg.q_begin + i, own = k_len - seg.q_len + i;
        const auto [first, last] = visible_to(own, k_len, opt);
        double top = -INFINITY, total = 0;
        for (int64_t j = first; j <= last; ++j) {
          p[static_cast<size_t>(j)] =
              opt.scale * dot(&q(t, h, 0), &seg.k(j, h / group, 0), d) * scale_of<KV>(seg.k_scale, j, h / group);
          if (opt.bias) {
            float more = 0;
            opt.bias->add({seg.q_begin, h, own, j, 1, 1.0f}, &more);
            p[static_cast<size_t>(j)] += static_cast<double>(more);
          }
          top = std::max(top, p[static_cast<size_t>(j)]);
        }
        std::fill(sum.begin(), sum.end(), 0.0);
        for (int64_t j = first; j <= last; ++j) {
          double e = std::exp(p[static_cast<size_t>(j)] - top);
          total += e;
          e *= scale_of<KV>(seg.v_scale, j, h / group);
          for (int64_t c = 0; c < dv; ++c) sum[static_cast<size_t>(c)] += e * wide(seg.v(j, h / group, c));
        }
        for (int64_t c = 0; c < dv; ++c) o(t, h, c) = static_cast<T>(sum[static_cast<size_t>(c)] / total);
        if (lse) lse(t, h) = static_cast<T>(top + std::log(total));
      }
  }
}

template <class T>
void attention_backward_ref(const AttentionBackwardArgs<T>& a, Arena& scratch) {
  int64_t hq = a.q.shape[1], hkv = a.k.shape[1], d = a.q.shape[2], dv = a.v.shape[2], group = hq / hkv;
  for (size_t s = 0; s + 1 < a.offsets.size(); ++s)
    for (int64_t g = 0; g < hkv; ++g) {
      int64_t begin = a.offsets[s], n = a.offsets[s + 1] - begin;
      Arena::Scope scope(scratch);
      View<double, 2> gk(scratch.take<double>(n * d).data(), {n, d}),
          gv(scratch.take<double>(n * dv).data(), {n, dv});
      std::span<double> gq = scratch.take<double>(d);
      std::fill(gk.data, gk.data + n * d, 0.0);
      std::fill(gv.data, gv.data + n * dv, 0.0);
      for (int64_t h = g * group; h < (g + 1) * group; ++h)
        for (int64_t i = 0; i < n; ++i) {
          int64_t t = begin + i;
          double delta = dot(&a.go(t, h, 0), &a.o(t, h, 0), dv);
          std::fill(gq.begin(), gq.end(), 0.0);
          for (int64_t j = first_visible(i, a.options.window); j <= i; ++j) {
            double sc = a.options.scale * dot(&a.q(t, h, 0), &a.k(begin + j, g, 0), d);
            double p = std::exp(sc - wide(a.lse(t, h)));
            double gs = p * (dot(&a.go(t, h, 0), &a.v(begin + j, g, 0), dv) - delta) * a.options.scale;
            for (int64_t c = 0; c < dv; ++c) gv(j, c) += p * wide(a.go(t, h, c));
            for (int64_t c = 0; c < d; ++c) {
              gq[static_cast<size_t>(c)] += gs * wide(a.k(begin + j, g, c));
              gk(j, c) += gs * wide(a.q(t, h, c));
            }
          }
          for (int64_t c = 0; c < d; ++c) a.grads.gq(t, h, c) = static_cast<T>(gq[static_cast<size_t>(c)]);
        }
      for (int64_t j = 0; j < n; ++j) {
        for (int64_t c = 0; c < d; ++c) a.grads.gk(begin + j, g, c) = static_cast<T>(gk(j, c));
        for (int64_t c = 0; c < dv; ++c) a.grads.gv(begin + j, g, c) = static_cast<T>(gv(j, c));
      }
    }
}

template void attention_ref<double, double>(View<const double, 3>, std::span<const AttentionSegment<double>>,
                                            AttentionOptions, View<double, 3>, View<double, 2>, Arena&);
template void attention_ref<float, float>(View<const float, 3>, std::span<const AttentionSegment<float>>,
                                          AttentionOptions, View<float, 3>, View<float, 2>, Arena&);
template void attention_ref<float, bf16>(View<const float, 3>, std::span<const AttentionSegment<bf16>>,
                                         AttentionOptions, View<float, 3>, View<float, 2>, Arena&);
template void attention_ref<float, int8_t>(View<const float, 3>, std::span<const AttentionSegment<int8_t>>,
                                           AttentionOptions, View<float, 3>, View<float, 2>, Arena&);
template void attention_backward_ref<double>(const AttentionBackwardArgs<double>&, Arena&);
template void attention_backward_ref<float>(const AttentionBackwardArgs<float>&, Arena&);

}  // namespace quern::kernels
