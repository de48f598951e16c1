// Reference attention, forward and backward: what the fast versions are tested against, and the version for double.
// Same arguments and shapes as attention.h.
#pragma once
#include "quern/kernels/attention/attention.h"

namespace quern::kernels {

template <class T, class KV>
void attention_ref(View<const T, 3> q, std::span<const AttentionSegment<KV>> segments, AttentionOptions options,
                   View<T, 3> o, View<T, 2> lse, Arena& scratch);

template <class T>
void attention_backward_ref(const AttentionBackwardArgs<T>& a, Arena& scratch);

}  // namespace quern::kernels
