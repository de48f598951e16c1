// Reference mixture of experts: one (token, slot) pair at a time. Arguments as in moe.h.
#pragma once
#include "quern/kernels/moe/moe.h"

namespace quern::kernels {

template <class T>
void grouped_gemm_ref(View<const T, 2> x, View<const T, 3> w, const MoePlan& plan, View<T, 2> y);
template <class T>
void moe_ffn_ref(const MoeForward<T>& a, const MoePlan& plan, Arena& scratch);
template <class T>
void moe_ffn_backward_ref(const MoeBackward<T>& a, const MoePlan& plan, Arena& scratch);

// row_of[t·k + s] = the grouped row of pair (t, s), −1 where no expert serves it. Lives in scratch.
std::span<int32_t> moe_row_of(const MoePlan& plan, int64_t tokens, int64_t slots, Arena& scratch);

}  // namespace quern::kernels
