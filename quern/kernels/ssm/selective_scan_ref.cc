// Reference selective scan by its recurrence, channel by channel, sums in double. Backward keeps every state of a
// channel's segment and runs backwards with G[n] = ∂loss/∂S_t[n]; y before the gate is recomputed from the states.
#include "quern/kernels/ssm/ssm_ref.h"

namespace quern::kernels {
namespace {

template <class T, class I>
double at(const View<T, 2>& v, I i, I j) {
  return static_cast<double>(v(i, j));
}

}  // namespace

template <class T>
void selective_scan_ref(const ScanInputs<T>& in, std::span<const View<T, 2>> states, View<T, 2> y, Arena& scratch) {
  Arena::Scope scope(scratch);
  const int64_t N = in.a.shape[0];
  double* s = scratch.take<double>(N).data();
  for (size_t seg = 0; seg + 1 < in.offsets.size(); ++seg)
    for (int64_t c = 0; c < in.x.shape[1]; ++c) {
      for (int64_t n = 0; n < N; ++n) s[n] = states.empty() ? 0 : at(states[seg], n, c);
      for (int64_t t = in.offsets[seg]; t < in.offsets[seg + 1]; ++t) {
        const double delta = softplus(at(in.dt, t, c) + static_cast<double>(in.bias(c))), x = at(in.x, t, c);
        double sum = static_cast<double>(in.d(c)) * x;
        for (int64_t n = 0; n < N; ++n) {
          s[n] = std::exp(delta * at(in.a, n, c)) * s[n] + delta * at(in.b, t, n) * x;
          sum += s[n] * at(in.c, t, n);
        }
        const double z = in.z ? at(in.z, t, c) : 0;
        y(t, c) = static_cast<T>(in.z ? sum * z * sigmoid(z) : sum);
      }
      for (int64_t n = 0; !states.empty() && n < N; ++n) states[seg](n, c) = static_cast<T>(s[n]);
    }
}

template <class T>
void selective_scan_backward_ref(const ScanInputs<T>& in, View<const T, 2> gy, ScanGrads<T> o, Arena& scratch) {
  const int64_t N = in.a.shape[0];
  for (int64_t t = 0; t < o.gb.shape[0]; ++t)
    for (int64_t n = 0; n < N; ++n) o.gb(t, n) = o.gc(t, n) = 0;
  for (size_t seg = 0; seg + 1 < in.offsets.size(); ++seg)
    for (int64_t c = 0; c < in.x.shape[1]; ++c) {
      Arena::Scope scope(scratch);
      const int64_t begin = in.offsets[seg], len = in.offsets[seg + 1] - begin;
      double* s = scratch.take<double>((len + 1) * N).data();  // s[i]: before token i
      double* G = scratch.take<double>(N).data();
      auto delta_of = [&](int64_t t) { return softplus(at(in.dt, t, c) + static_cast<double>(in.bias(c))); };
      for (int64_t n = 0; n < N; ++n) s[n] = G[n] = 0;
      for (int64_t i = 0; i < len; ++i) {
        const double delta = delta_of(begin + i);
        for (int64_t n = 0; n < N; ++n)
          s[(i + 1) * N + n] = std::exp(delta * at(in.a, n, c)) * s[i * N + n] +
                               delta * at(in.b, begin + i, n) * at(in.x, begin + i, c);
      }
      for (int64_t i = len - 1; i >= 0; --i) {
        const int64_t t = begin + i;
        const double *before = s + i * N, *now = before + N, delta = delta_of(t), x = at(in.x, t, c),
                     D = static_cast<double>(in.d(c));
        double dy = at(gy, t, c);
        if (in.z) {
          double y = D * x;
          for (int64_t n = 0; n < N; ++n) y += now[n] * at(in.c, t, n);
          const double z = at(in.z, t, c), sz = sigmoid(z);
          if (o.gz) o.gz(t, c) = static_cast<T>(dy * y * sz * (1 + z * (1 - sz)));
          dy *= z * sz;
        }
        double gx = D * dy, g_delta = 0;
        for (int64_t n = 0; n < N; ++n) {
          const double B = at(in.b, t, n), A = at(in.a, n, c), decay = std::exp(delta * A);
          G[n] += dy * at(in.c, t, n);
          const double ga = G[n] * decay * before[n];
          o.gc(t, n) += static_cast<T>(dy * now[n]);
          o.gb(t, n) += static_cast<T>(G[n] * delta * x);
          if (o.ga) o.ga(n, c) += static_cast<T>(delta * ga);
          g_delta += A * ga + G[n] * B * x;
          gx += G[n] * delta * B;
          G[n] *= decay;
        }
        const double g_dt = g_delta * sigmoid(at(in.dt, t, c) + static_cast<double>(in.bias(c)));
        o.gx(t, c) = static_cast<T>(gx);
        o.gdt(t, c) = static_cast<T>(g_dt);
        if (o.gbias) o.gbias(c) += static_cast<T>(g_dt);
        if (o.gd) o.gd(c) += static_cast<T>(dy * x);
      }
    }
}

#define QUERN_INSTANTIATE(T)                                                                                  \
  template void selective_scan_ref<T>(const ScanInputs<T>&, std::span<const View<T, 2>>, View<T, 2>, Arena&); \
  template void selective_scan_backward_ref<T>(const ScanInputs<T>&, View<const T, 2>, ScanGrads<T>, Arena&);
QUERN_INSTANTIATE(float)
QUERN_INSTANTIATE(double)
#undef QUERN_INSTANTIATE

}  // namespace quern::kernels
