// Fast weight memory: one matrix per head, S [d, dv], updated with every token:
//   S̄_t = e^{g_t} S_{t−1};  u_t = β_t (v_t − S̄_tᵀ k_t), or v_t without correction;
//   S_t = S̄_t + k_t u_tᵀ;  o_t = S_tᵀ q_t
// With correction and decay it is the gated delta rule (arXiv 2412.06464), with correction only the delta rule, with
// neither linear attention. Backward, with dS carried from the end:
//   dq = S_t do; dS += q doᵀ; du = dSᵀ k; dk = dS u; dβ = du·r, r = v − S̄ᵀk; w = β du; dv = w; dk −= S̄ w;
//   dS̄ = dS − k wᵀ; dg = ⟨dS̄, S̄⟩; dS ← e^g dS̄
// States are kept every kFastWeightsKept tokens and recomputed in between. Cost per token: 4·d·dv multiply-adds.
#pragma once
#include <cstdint>

#include "quern/base/arena.h"
#include "quern/tensor/view.h"

namespace quern::mixers {

constexpr int64_t kFastWeightsKept = 64;

template <class T>
struct FastWeights {
  View<const T, 2> q, k, v;  // [T, d], [T, d], [T, dv]
  View<const T, 1> g, beta;  // [T]; none: 0 and 1
  bool correct = true;
};

// state: [d, dv], moved on. kept (may be null): [⌈T / kFastWeightsKept⌉, d, dv], the states that stretches begin
// with.
template <class T>
void fast_weights(const FastWeights<T>& x, T* state, View<T, 2> out, T* kept, Arena& scratch);

// From an empty state; all gradients are written, gg and gbeta only where there are decays and rates.
template <class T>
struct FastWeightsBackwardArgs {
  const T* kept;
  View<const T, 2> gout;           // [T, dv]
  View<T, 2> gq, gk, gv;           // like q, k and v
  View<T, 1> gg = {}, gbeta = {};  // [T]
};
template <class T>
void fast_weights_backward(const FastWeights<T>& x, const FastWeightsBackwardArgs<T>& in, Arena& scratch);

}  // namespace quern::mixers
