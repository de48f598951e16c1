// Reference SSD by its recurrence, head by head and token by token, sums in double. Backward keeps every state of a
// segment and runs backwards with G = ∂loss/∂S_t:
//   G += C_t·gy_tᵀ;  gC_t = S_t·gy_t;  ga = e^a·⟨G, S_{t−1}⟩;  gΔ = A·ga + B_tᵀ·G·x_t;  gB_t = Δ·G·x_t;
//   gx_t = Δ·Gᵀ·B_t + D·gy_t;  G ← e^a·G
#include <algorithm>

#include "quern/kernels/ssm/ssm_ref.h"

namespace quern::kernels {
namespace {

struct Rates {
  double pre, delta, decay;
  bool clamped;
};

template <class T>
Rates rates(const SsdInputs<T>& in, int64_t t, int64_t h) {
  const double pre = static_cast<double>(in.dt(t, h)) + static_cast<double>(in.bias(h)), soft = softplus(pre);
  const double delta = std::clamp(soft, in.dt_min, in.dt_max);
  return {pre, delta, std::exp(-std::exp(static_cast<double>(in.a_log(h))) * delta), delta != soft};
}

}  // namespace

template <class T>
void ssd_ref(const SsdInputs<T>& in, std::span<const View<T, 3>> states, View<T, 2> y, Arena& scratch) {
  Arena::Scope scope(scratch);
  const int64_t H = in.heads(), P = in.head_dim(), N = in.n_state(), per = H / in.n_group;
  double* s = scratch.take<double>(N * P).data();
  for (size_t seg = 0; seg + 1 < in.offsets.size(); ++seg)
    for (int64_t h = 0; h < H; ++h) {
      const int64_t g = h / per;
      for (int64_t i = 0; i < N * P; ++i) s[i] = states.empty() ? 0 : static_cast<double>(states[seg][h].data[i]);
      for (int64_t t = in.offsets[seg]; t < in.offsets[seg + 1]; ++t) {
        const Rates r = rates(in, t, h);
        for (int64_t p = 0; p < P; ++p) {
          const double x = static_cast<double>(in.x(t, h * P + p));
          double sum = static_cast<double>(in.d(h)) * x;
          for (int64_t n = 0; n < N; ++n) {
            double& v = s[n * P + p];
            v = r.decay * v + r.delta * static_cast<double>(in.b(t, g * N + n)) * x;
            sum += v * static_cast<double>(in.c(t, g * N + n));
          }
          y(t, h * P + p) = static_cast<T>(sum);
        }
      }
      for (int64_t i = 0; !states.empty() && i < N * P; ++i) states[seg][h].data[i] = static_cast<T>(s[i]);
    }
}

template <class T>
void ssd_backward_ref(const SsdInputs<T>& in, View<const T, 2> gy, SsdGrads<T> o, Arena& scratch) {
  const int64_t H = in.heads(), P = in.head_dim(), N = in.n_state(), per = H / in.n_group;
  auto at = [](const auto& v, int64_t i, int64_t j) { return static_cast<double>(v(i, j)); };
  for (int64_t t = 0; t < o.gb.shape[0]; ++t)
    for (int64_t i = 0; i < o.gb.shape[1]; ++i) o.gb(t, i) = o.gc(t, i) = 0;
  for (size_t seg = 0; seg + 1 < in.offsets.size(); ++seg)
    for (int64_t h = 0; h < H; ++h) {
      Arena::Scope scope(scratch);
      const int64_t g = h / per, begin = in.offsets[seg], len = in.offsets[seg + 1] - begin;
      const double A = -std::exp(static_cast<double>(in.a_log(h))), D = static_cast<double>(in.d(h));
      double* s = scratch.take<double>((len + 1) * N * P).data();  // s[i]: the state before token i
      double* G = scratch.take<double>(N * P).data();
      std::fill_n(s, N * P, 0.0);
      std::fill_n(G, N * P, 0.0);
      for (int64_t i = 0; i < len; ++i) {
        const Rates r = rates(in, begin + i, h);
        for (int64_t n = 0; n < N; ++n)
          for (int64_t p = 0; p < P; ++p)
            s[((i + 1) * N + n) * P + p] = r.decay * s[(i * N + n) * P + p] +
                                           r.delta * at(in.b, begin + i, g * N + n) * at(in.x, begin + i, h * P + p);
      }
      for (int64_t i = len - 1; i >= 0; --i) {
        const int64_t t = begin + i;
        const Rates r = rates(in, t, h);
        const double *before = s + i * N * P, *now = before + N * P;
        double ga = 0, g_delta = 0;
        for (int64_t n = 0; n < N; ++n) {
          const double B = at(in.b, t, g * N + n), C = at(in.c, t, g * N + n);
          double gB = 0, gC = 0;
          for (int64_t p = 0; p < P; ++p) {
            double& v = G[n * P + p];
            const double dy = at(gy, t, h * P + p), x = at(in.x, t, h * P + p);
            v += C * dy;
            gC += now[n * P + p] * dy;
            ga += r.decay * v * before[n * P + p];
            g_delta += v * B * x;
            gB += r.delta * v * x;
          }
          o.gb(t, g * N + n) += static_cast<T>(gB);
          o.gc(t, g * N + n) += static_cast<T>(gC);
        }
        double gD = 0;
        for (int64_t p = 0; p < P; ++p) {
          const double dy = at(gy, t, h * P + p);
          double gx = D * dy;
          for (int64_t n = 0; n < N; ++n) gx += r.delta * G[n * P + p] * at(in.b, t, g * N + n);
          o.gx(t, h * P + p) = static_cast<T>(gx);
          gD += dy * at(in.x, t, h * P + p);
        }
        for (int64_t k = 0; k < N * P; ++k) G[k] *= r.decay;
        const double g_dt = r.clamped ? 0 : (g_delta + A * ga) * sigmoid(r.pre);
        o.gdt(t, h) = static_cast<T>(g_dt);
        if (o.gbias) o.gbias(h) += static_cast<T>(g_dt);
        if (o.ga_log) o.ga_log(h) += static_cast<T>(A * r.delta * ga);
        if (o.gd) o.gd(h) += static_cast<T>(gD);
      }
    }
}

#define QUERN_INSTANTIATE(T)                                                                      \
  template void ssd_ref<T>(const SsdInputs<T>&, std::span<const View<T, 3>>, View<T, 2>, Arena&); \
  template void ssd_backward_ref<T>(const SsdInputs<T>&, View<const T, 2>, SsdGrads<T>, Arena&);
QUERN_INSTANTIATE(float)
QUERN_INSTANTIATE(double)
#undef QUERN_INSTANTIATE

}  // namespace quern::kernels
