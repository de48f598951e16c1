// Embedding lookup y_t = E[id_t] and its backward gE[id_t] += gy_t (rows with the same id in token order).
#pragma once
#include <cstdint>
#include <span>

#include "quern/base/bf16.h"
#include "quern/tensor/view.h"

namespace quern::kernels {

template <class W, class T>  // W: float, double or bf16 rows
void embedding(View<const W, 2> table, std::span<const int32_t> ids, View<T, 2> y);
template <class T>
void embedding_backward(std::span<const int32_t> ids, View<const T, 2> gy, View<T, 2> g_table);

}  // namespace quern::kernels
