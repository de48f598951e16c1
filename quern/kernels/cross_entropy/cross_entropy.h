// Cross-entropy fused with the LM head: loss = Σ_t weight_t · (lse(h_t·Wᵀ) − h_t·W[target_t]) / Σ weight. Logits exist
// only for one chunk of tokens × all of V at most `chunk_bytes` large; forward and backward are one pass: gradients
// are computed with the loss (scaled by g_loss), while the logits of a chunk exist. Targets < 0 are ignored (weight
// 0). A per-document loss weight may be null (= 1).
#pragma once
#include <cstdint>
#include <span>

#include "quern/base/arena.h"
#include "quern/kernels/cross_entropy/head_matrix.h"
#include "quern/tensor/view.h"

namespace quern::kernels {

template <class T>
struct HeadLoss {
  View<const T, 2> h;                // [T, D]
  HeadMatrix<T> w;                   // [V, D]
  View<const T, 1> bias;             // [V] or null
  std::span<const int32_t> targets;  // [T]
  View<const T, 1> weight;           // [T] or null
  int64_t chunk_bytes = int64_t{32} << 20;
  bool bf16 = false;  // float: products round their operands to bf16
};

template <class T>
struct HeadLossGrads {
  View<T, 2> gh;     // written; null = no gradients wanted at all
  View<T, 2> gw;     // +=, may be null
  View<T, 1> gbias;  // +=, may be null
};

// Returns the mean loss; token_loss [T] (may be null) gets each token's −log p (0 where ignored).
template <class T>
double head_cross_entropy(const HeadLoss<T>& in, double g_loss, HeadLossGrads<T> grads, View<T, 1> token_loss,
                          Arena& scratch);

}  // namespace quern::kernels
