// Any objective of the tokens' log-probabilities, fused with the LM head: loss = Σ_t f_t(log p_t), where log p_t is that
// of target t under softmax(h_t·Wᵀ / temperature). f_t gives its value and its slope once log p_t is known, so weights
// may depend on it, be negative, and sum to anything: nothing is divided by their sum. Logits exist for one chunk of
// tokens; forward and backward are one pass, as in cross_entropy.h. Targets < 0 are ignored.
#pragma once
#include <functional>

#include "quern/kernels/cross_entropy/cross_entropy.h"

namespace quern::kernels {

struct TokenTerm {
  double loss = 0, slope = 0;  // f_t, and its derivative by log p_t
};
using TokenObjective = std::function<TokenTerm(int64_t token, double logprob)>;  // called in the order of the tokens

template <class T>
struct HeadObjective {
  View<const T, 2> h;                // [T, D]
  HeadMatrix<T> w;                   // [V, D]
  std::span<const int32_t> targets;  // [T]
  double temperature = 1;
  int64_t chunk_bytes = int64_t{32} << 20;
  bool bf16 = false;  // float: products round their operands to bf16
};

// Returns the loss. `grads.gh` null: no gradients; they are scaled by g_loss.
template <class T>
double head_objective(const HeadObjective<T>& in, const TokenObjective& f, double g_loss, HeadLossGrads<T> grads,
                      Arena& scratch);

// The definition, token by token in double.
template <class T>
double head_objective_ref(const HeadObjective<T>& in, const TokenObjective& f, double g_loss, HeadLossGrads<T> grads,
                          Arena& scratch);

}  // namespace quern::kernels
