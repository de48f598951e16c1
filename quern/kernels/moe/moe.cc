// The mixture's entry points: the plan, checks of shapes, and which version runs.
#include "quern/kernels/moe/moe.h"

#include <algorithm>

#include "quern/base/error.h"
#include "quern/kernels/moe/moe_ref.h"

namespace quern::kernels {

// Counting sort by expert; walking pairs in (token, slot) order keeps tokens in order inside a group.
MoePlan moe_plan(View<const int32_t, 2> expert, int64_t n_experts, Arena& scratch) {
  MoePlan plan;
  plan.offsets = scratch.take<int32_t>(n_experts + 1);
  std::fill(plan.offsets.begin(), plan.offsets.end(), 0);
  auto served = [&](int32_t e) { return e >= 0 && e < n_experts; };
  for (int64_t t = 0; t < expert.shape[0]; ++t)
    for (int64_t s = 0; s < expert.shape[1]; ++s)
      if (int32_t e = expert(t, s); served(e)) ++plan.offsets[static_cast<size_t>(e) + 1];
  for (size_t e = 1; e < plan.offsets.size(); ++e) plan.offsets[e] += plan.offsets[e - 1];
  plan.n = plan.offsets.back();
  plan.token = scratch.take<int32_t>(plan.n);
  plan.slot = scratch.take<int32_t>(plan.n);
  Arena::Scope scope(scratch);
  std::span<int32_t> next = scratch.take<int32_t>(n_experts);
  std::copy_n(plan.offsets.begin(), n_experts, next.begin());
  for (int64_t t = 0; t < expert.shape[0]; ++t)
    for (int64_t s = 0; s < expert.shape[1]; ++s) {
      int32_t e = expert(t, s);
      if (!served(e)) continue;
      size_t r = static_cast<size_t>(next[static_cast<size_t>(e)]++);
      plan.token[r] = static_cast<int32_t>(t), plan.slot[r] = static_cast<int32_t>(s);
    }
  return plan;
}

std::span<int32_t> moe_row_of(const MoePlan& plan, int64_t tokens, int64_t slots, Arena& scratch) {
  std::span<int32_t> row_of = scratch.take<int32_t>(tokens * slots);
  std::fill(row_of.begin(), row_of.end(), -1);
  for (int64_t r = 0; r < plan.n; ++r) {
    size_t i = static_cast<size_t>(r);
    row_of[static_cast<size_t>(plan.token[i] * slots + plan.slot[i])] = static_cast<int32_t>(r);
  }
  return row_of;
}

template <class T>
void grouped_gemm(View<const T, 2> x, View<const T, 3> w, const MoePlan& plan, View<T, 2> y) {
  QUERN_CHECK(x.shape[0] == plan.n && y.shape[0] == plan.n && x.shape[1] == w.shape[2] && y.shape[1] == w.shape[1] &&
                  static_cast<int64_t>(plan.offsets.size()) == w.shape[0] + 1,
              "x [{}, {}], w [{}, {}, {}], y [{}, {}], plan of {} rows", x.shape[0], x.shape[1], w.shape[0],
              w.shape[1], w.shape[2], y.shape[0], y.shape[1], plan.n);
  grouped_gemm_ref(x, w, plan, y);
}

template <class T>
void moe_ffn(const MoeForward<T>& a, const MoePlan& plan, Arena& scratch) {
  QUERN_CHECK(a.x.shape == a.y.shape && a.p.shape[0] == a.x.shape[0] && a.gate_up.shape[2] == a.x.shape[1] &&
              a.down.shape[1] == a.x.shape[1] && a.gate_up.shape[1] == 2 * a.down.shape[2]);
  moe_ffn_ref(a, plan, scratch);
}

template <class T>
void moe_ffn_backward(const MoeBackward<T>& a, const MoePlan& plan, Arena& scratch) {
  QUERN_CHECK(a.x.shape == a.gx.shape && a.x.shape == a.gy.shape && a.p.shape == a.gp.shape &&
              a.saved_gate_up.shape[0] == plan.n && a.saved_out.shape[0] == plan.n);
  moe_ffn_backward_ref(a, plan, scratch);
}

void moe_ffn_packed(View<const float, 2> x, std::span<const PackedLinear> gate_up, std::span<const PackedLinear> down,
                    View<const float, 2> p, Activation act, const MoePlan& plan, View<float, 2> y, Arena& scratch) {
  const int64_t d = x.shape[1], slots = p.shape[1];
  QUERN_CHECK(x.shape == y.shape && gate_up.size() == down.size() && plan.offsets.size() == gate_up.size() + 1);
  Arena::Scope scope(scratch);
  View<float, 2> out(scratch.take<float>(plan.n * d).data(), {plan.n, d});
  for (size_t e = 0; e < gate_up.size(); ++e) {
    const int64_t begin = plan.offsets[e], n = plan.offsets[e + 1] - begin;
    if (n == 0) continue;
    const int64_t f = down[e].k();
    Arena::Scope rows(scratch);
    View<float, 2> xe(scratch.take<float>(n * d).data(), {n, d}),
        gu(scratch.take<float>(n * 2 * f).data(), {n, 2 * f});
    View<float, 2> h(scratch.take<float>(n * f).data(), {n, f});
    for (int64_t r = 0; r < n; ++r) std::copy_n(x.row(plan.token[static_cast<size_t>(begin + r)]), d, xe.row(r));
    gate_up[e].apply(xe, {}, gu, scratch);
    gated<float>(act, gu, h);
    down[e].apply(h, {}, out.slice(begin, begin + n), scratch);
  }
  std::span<int32_t> row_of = moe_row_of(plan, x.shape[0], slots, scratch);
  for (int64_t t = 0; t < x.shape[0]; ++t) {
    std::fill_n(y.row(t), d, 0.0f);
    for (int64_t s = 0; s < slots; ++s) {
      const int32_t r = row_of[static_cast<size_t>(t * slots + s)];
      for (int64_t c = 0; r >= 0 && c < d; ++c) y(t, c) += p(t, s) * out(r, c);
    }
  }
}

#define QUERN_INSTANTIATE(T)                                                                     \
  template void grouped_gemm<T>(View<const T, 2>, View<const T, 3>, const MoePlan&, View<T, 2>); \
  template void moe_ffn<T>(const MoeForward<T>&, const MoePlan&, Arena&);                        \
  template void moe_ffn_backward<T>(const MoeBackward<T>&, const MoePlan&, Arena&);
QUERN_INSTANTIATE(float)
QUERN_INSTANTIATE(double)
#undef QUERN_INSTANTIATE

}  // namespace quern::kernels
