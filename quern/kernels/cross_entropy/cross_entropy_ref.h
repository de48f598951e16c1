// Reference head loss: one token's logits at a time. Arguments as in cross_entropy.h.
#pragma once
#include "quern/kernels/cross_entropy/cross_entropy.h"

namespace quern::kernels {

template <class T>
double head_cross_entropy_ref(const HeadLoss<T>& in, double g_loss, HeadLossGrads<T> grads, View<T, 1> token_loss,
                              Arena& scratch);

}  // namespace quern::kernels
