// Counters of weight bytes read and flops computed by forward matrix multiplications since the program began: `quern
// bench model` compares them with the machine's bandwidth and peak, training derives its model flops from them.
// Weights used twice in a step count twice.
#pragma once
#include <atomic>
#include <cstdint>

namespace quern::trace {

inline std::atomic<int64_t> weight_bytes_read{0}, matmul_flops{0};

// One product of `rows` rows with `weights` weights that take `bytes`.
inline void count_matmul(int64_t rows, int64_t weights, int64_t bytes) {
  weight_bytes_read.fetch_add(bytes, std::memory_order_relaxed);
  matmul_flops.fetch_add(2 * rows * weights, std::memory_order_relaxed);
}

}  // namespace quern::trace
