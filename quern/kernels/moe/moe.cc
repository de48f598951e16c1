// Entry points of the mixture of experts: the plan, shape checks and dispatch.
#include "quern/kernels/moe/moe.h"

#include <algorithm>

#include "quern/base/cpu.h"
#include "quern/base/error.h"
#include "quern/kernels/moe/moe_fast.h"
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
  if constexpr (std::is_same_v<T, float>)
    if (active_isa() != Isa::ref) return grouped_gemm_fast(x, w, plan, y);
  grouped_gemm_ref(x, w, plan, y);
}

template <class T>
void moe_ffn(const MoeForward<T>& a, const MoePlan& plan, Arena& scratch) {
  QUERN_CHECK(a.x.shape == a.y.shape && a.p.shape[0] == a.x.shape[0] && a.gate_up.shape[2] == a.x.shape[1] &&
              a.down.shape[1] == a.x.shape[1] && a.gate_up.shape[1] == 2 * a.down.shape[2] &&
              static_cast<int64_t>(plan.offsets.size()) == a.gate_up.shape[0] + 1);
  if constexpr (std::is_same_v<T, float>)
    if (active_isa() != Isa::ref) return moe_ffn_fast(a, plan, scratch);
  moe_ffn_ref(a, plan, scratch);
}

template <class T>
void moe_ffn_backward(const MoeBackward<T>& a, const MoePlan& plan, Arena& scratch) {
  QUERN_CHECK(a.x.shape == a.gx.shape && a.x.shape == a.gy.shape && a.p.shape == a.gp.shape &&
              a.saved_gate_up.shape[0] == plan.n && a.saved_out.shape[0] == plan.n);
  if constexpr (std::is_same_v<T, float>)
    if (active_isa() != Isa::ref) return moe_ffn_backward_fast(a, plan, scratch);
  moe_ffn_backward_ref(a, plan, scratch);
}

#define QUERN_INSTANTIATE(T)                                                                     \
  template void grouped_gemm<T>(View<const T, 2>, View<const T, 3>, const MoePlan&, View<T, 2>); \
  template void moe_ffn<T>(const MoeForward<T>&, const MoePlan&, Arena&);                        \
  template void moe_ffn_backward<T>(const MoeBackward<T>&, const MoePlan&, Arena&);
QUERN_INSTANTIATE(float)
QUERN_INSTANTIATE(double)
#undef QUERN_INSTANTIATE

}  // namespace quern::kernels
