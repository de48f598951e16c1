// Any objective of whole rows of logits, fused with the LM head: the logits h·Wᵀ of a chunk of tokens are handed to a
// function, which returns their loss and leaves its gradient by them in their place. Two more products carry that to h
// and W, so that logits exist for one chunk of tokens, and forward and backward are one pass.
#pragma once
#include <functional>

#include "quern/kernels/cross_entropy/cross_entropy.h"

namespace quern::kernels {

// Tokens begin, begin + 1, …: one row of logits each. Called for chunks in their order.
template <class T>
using RowsObjectiveOf = std::function<double(int64_t begin, View<T, 2> logits)>;
using RowsObjective = RowsObjectiveOf<float>;

template <class T>
struct HeadRows {
  View<const T, 2> h;  // [T, D]
  HeadMatrix<T> w;     // [V, D]
  int64_t chunk_bytes = int64_t{32} << 20;
  bool bf16 = false;  // float: products round their operands to bf16
};

// Returns the loss. `grads.gh` null: no gradients; gw is added to.
template <class T>
double head_rows(const HeadRows<T>& in, const RowsObjectiveOf<T>& f, HeadLossGrads<T> grads, Arena& scratch);

}  // namespace quern::kernels
