// Mixture of experts: dispatch tokens to expert groups, one gated-FFN GEMM pair per non-empty expert, combine.
//   y_t = Σ_s p[t,s] · f_{e[t,s]}(x_t),   f_e(x) = (act(x·Wg_eᵀ) ⊙ (x·Wu_eᵀ))·Wd_eᵀ
// gate_up: [E, 2F, D] (gate rows first), down: [E, D, F]. expert[t,s] ≥ E or < 0 means "no expert" (contributes
// nothing). Plan groups (token, slot) pairs by expert, tokens in order inside a group: the sum over slots is taken in
// slot order.
#pragma once
#include <cstdint>
#include <span>

#include "quern/base/arena.h"
#include "quern/kernels/activation/activation.h"
#include "quern/kernels/quant/prepacked_weight.h"
#include "quern/tensor/view.h"

namespace quern::kernels {

struct MoePlan {
  std::span<int32_t> offsets;  // [E + 1], rows of each expert in the grouped order
  std::span<int32_t> token;    // [n] token of each grouped row
  std::span<int32_t> slot;     // [n] its slot
  int64_t n = 0;               // grouped rows: pairs that go to a real expert
};
// expert: [T, k]. The plan's arrays come from scratch and live as long as the caller's arena scope.
MoePlan moe_plan(View<const int32_t, 2> expert, int64_t n_experts, Arena& scratch);

// Grouped GEMM: y[rows of e] = x[rows of e]·W_eᵀ for every expert e.
template <class T>
void grouped_gemm(View<const T, 2> x, View<const T, 3> w, const MoePlan& plan, View<T, 2> y);

template <class T>
struct MoeForward {
  View<const T, 2> x;              // [T, D]
  View<const T, 3> gate_up, down;  // [E, 2F, D], [E, D, F]
  View<const T, 2> p;              // [T, k] combine weights
  Activation act = Activation::silu;
  View<T, 2> y;              // [T, D], written
  View<T, 2> saved_gate_up;  // [n, 2F] grouped rows, kept for backward; null at inference
  View<T, 2> saved_out;      // [n, D] f_e(x) before p; needed for g_p; null at inference
  bool bf16 = false;         // float: products round their operands to bf16
};
template <class T>
void moe_ffn(const MoeForward<T>& a, const MoePlan& plan, Arena& scratch);

template <class T>
struct MoeBackward {
  View<const T, 2> x;
  View<const T, 3> gate_up, down;
  View<const T, 2> p, saved_gate_up, saved_out, gy;
  Activation act = Activation::silu;
  View<T, 2> gx, gp;             // written
  View<T, 3> g_gate_up, g_down;  // +=, may be null
  bool bf16 = false;
};
template <class T>
void moe_ffn_backward(const MoeBackward<T>& a, const MoePlan& plan, Arena& scratch);

// Packed experts, which do not learn: gate_up[e] is [2F, D], down[e] is [D, F]. Reads the weights of the chosen experts
// only, and takes nothing back to f32 but pieces for gradients of x.
struct MoePacked {
  View<const float, 2> x;                          // [T, D]
  std::span<const PrepackedWeight> gate_up, down;  // one each per expert
  View<const float, 2> p;                          // [T, K], weights of the chosen experts
  Activation act = Activation::silu;
  View<float, 2> y;                                   // [T, D]
  View<float, 2> saved_gate_up = {}, saved_out = {};  // as above; null at inference
};
void moe_ffn_packed(const MoePacked& a, const MoePlan& plan, Arena& scratch);

struct MoePackedBackward {
  std::span<const PrepackedWeight> gate_up, down;
  View<const float, 2> p, saved_gate_up, saved_out, gy;
  Activation act = Activation::silu;
  View<float, 2> gx, gp;  // written
  bool bf16 = false;
};
void moe_ffn_packed_backward(const MoePackedBackward& a, const MoePlan& plan, Arena& scratch);

}  // namespace quern::kernels
