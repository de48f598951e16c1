// Mixture of experts by its equation: every grouped row through its expert, one at a time, then sums in slot order.
//   backward, with a = act(gate)⊙up, o = f_e(x):  gp = gy·o,  g_o = p·gy,  gWd += g_oᵀ·a,  g_a = g_o·Wd,
//   g_gu = gated backward of g_a,  gWgu += g_guᵀ·x,  gx += g_gu·Wgu
// Shapes as in moe.h. Cost: 6·n·D·F flops forward, 12·n·D·F backward.
#include "quern/kernels/moe/moe_ref.h"

#include <algorithm>

#include "quern/kernels/activation/activation_ref.h"

namespace quern::kernels {
namespace {

// y += x·Wᵀ for one row; W [N, K].
template <class T>
void add_row(const T* x, View<const T, 2> w, T* y) {
  for (int64_t n = 0; n < w.shape[0]; ++n) {
    double sum = static_cast<double>(y[n]);
    for (int64_t k = 0; k < w.shape[1]; ++k) sum += static_cast<double>(x[k]) * static_cast<double>(w(n, k));
    y[n] = static_cast<T>(sum);
  }
}

// One row's backward of y = x·Wᵀ: gx += g·W, and gw += gᵀ·x where gw is present.
template <class T>
void add_row_backward(const T* x, View<const T, 2> w, const T* g, T* gx, View<T, 2> gw) {
  for (int64_t n = 0; n < w.shape[0]; ++n)
    for (int64_t k = 0; k < w.shape[1]; ++k) {
      gx[k] += g[n] * w(n, k);
      if (gw) gw(n, k) += g[n] * x[k];
    }
}

template <class F>
void each_row(const MoePlan& plan, F&& f) {  // f(expert, grouped row)
  for (int64_t e = 0; e + 1 < static_cast<int64_t>(plan.offsets.size()); ++e)
    for (int64_t r = plan.offsets[static_cast<size_t>(e)]; r < plan.offsets[static_cast<size_t>(e + 1)]; ++r) f(e, r);
}

template <class T>
View<T, 2> zeroed(View<T, 2> given, int64_t rows, int64_t cols, Arena& scratch) {
  View<T, 2> v = given ? given : View<T, 2>(scratch.take<T>(rows * cols).data(), {rows, cols});
  for (int64_t r = 0; r < rows; ++r) std::fill_n(v.row(r), cols, T{0});
  return v;
}

}  // namespace

template <class T>
void grouped_gemm_ref(View<const T, 2> x, View<const T, 3> w, const MoePlan& plan, View<T, 2> y) {
  each_row(plan, [&](int64_t e, int64_t r) {
    std::fill_n(y.row(r), y.shape[1], T{0});
    add_row<T>(x.row(r), w[e], y.row(r));
  });
}

template <class T>
void moe_ffn_ref(const MoeForward<T>& a, const MoePlan& plan, Arena& scratch) {
  const int64_t d = a.x.shape[1], f = a.down.shape[2];
  Arena::Scope scope(scratch);
  View<T, 2> gate_up = zeroed(a.saved_gate_up, plan.n, 2 * f, scratch);
  View<T, 2> out = zeroed(a.saved_out, plan.n, d, scratch);
  View<T, 2> act(scratch.take<T>(f).data(), {1, f});
  each_row(plan, [&](int64_t e, int64_t r) {
    add_row<T>(a.x.row(plan.token[static_cast<size_t>(r)]), a.gate_up[e], gate_up.row(r));
    gated_ref<T>(a.act, View<const T, 2>(gate_up.row(r), {1, 2 * f}), act);
    add_row<T>(act.data, a.down[e], out.row(r));
  });
  std::span<int32_t> row_of = moe_row_of(plan, a.p.shape[0], a.p.shape[1], scratch);
  for (int64_t t = 0; t < a.y.shape[0]; ++t) {
    std::fill_n(a.y.row(t), d, T{0});
    for (int64_t s = 0; s < a.p.shape[1]; ++s) {
      const int32_t r = row_of[static_cast<size_t>(t * a.p.shape[1] + s)];
      for (int64_t c = 0; r >= 0 && c < d; ++c) a.y(t, c) += a.p(t, s) * out(r, c);
    }
  }
}

template <class T>
void moe_ffn_backward_ref(const MoeBackward<T>& a, const MoePlan& plan, Arena& scratch) {
  const int64_t d = a.x.shape[1], f = a.down.shape[2];
  Arena::Scope scope(scratch);
  zeroed(a.gx, a.gx.shape[0], d, scratch);
  zeroed(a.gp, a.gp.shape[0], a.gp.shape[1], scratch);
  View<T, 2> act(scratch.take<T>(f).data(), {1, f}), g_gate_up(scratch.take<T>(2 * f).data(), {1, 2 * f});
  View<T, 2> g_act(scratch.take<T>(f).data(), {1, f}), g_out(scratch.take<T>(d).data(), {1, d});
  View<T, 2> g_rows = zeroed(View<T, 2>{}, plan.n, d, scratch);
  each_row(plan, [&](int64_t e, int64_t r) {
    const int64_t t = plan.token[static_cast<size_t>(r)], s = plan.slot[static_cast<size_t>(r)];
    View<const T, 2> gu(a.saved_gate_up.row(r), {1, 2 * f});
    for (int64_t c = 0; c < d; ++c) {
      a.gp(t, s) += a.gy(t, c) * a.saved_out(r, c);
      g_out(0, c) = a.p(t, s) * a.gy(t, c);
    }
    gated_ref<T>(a.act, gu, act);
    std::fill_n(g_act.data, f, T{0});
    add_row_backward<T>(act.data, a.down[e], g_out.data, g_act.data, a.g_down ? a.g_down[e] : View<T, 2>{});
    gated_backward_ref<T>(a.act, gu, g_act, g_gate_up);
    add_row_backward<T>(a.x.row(t), a.gate_up[e], g_gate_up.data, g_rows.row(r),
                        a.g_gate_up ? a.g_gate_up[e] : View<T, 2>{});
  });
  std::span<int32_t> row_of = moe_row_of(plan, a.p.shape[0], a.p.shape[1], scratch);
  for (int64_t t = 0; t < a.gx.shape[0]; ++t)
    for (int64_t s = 0; s < a.p.shape[1]; ++s) {
      const int32_t r = row_of[static_cast<size_t>(t * a.p.shape[1] + s)];
      for (int64_t c = 0; r >= 0 && c < d; ++c) a.gx(t, c) += g_rows(r, c);
    }
}

#define QUERN_INSTANTIATE(T)                                                                         \
  template void grouped_gemm_ref<T>(View<const T, 2>, View<const T, 3>, const MoePlan&, View<T, 2>); \
  template void moe_ffn_ref<T>(const MoeForward<T>&, const MoePlan&, Arena&);                        \
  template void moe_ffn_backward_ref<T>(const MoeBackward<T>&, const MoePlan&, Arena&);
QUERN_INSTANTIATE(float)
QUERN_INSTANTIATE(double)
#undef QUERN_INSTANTIATE

}  // namespace quern::kernels
