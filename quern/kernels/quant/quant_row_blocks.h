// Quantized multiplication by row blocks of up to 16 rows (quant_kernels.h): one matrix, or several of one shape
// together, each with rows of its own, like the experts of a mixture.
#pragma once
#include <span>

#include "quern/base/arena.h"
#include "quern/kernels/quant/quant_kernels.h"
#include "quern/kernels/quant/quant_layout.h"
#include "quern/tensor/view.h"

namespace quern::kernels {

struct QuantGroup {
  const uint8_t* blob = nullptr;
  int64_t begin = 0, end = 0;  // its rows of x and y
};

// y[r] = W_g·x[r] + b for the rows r of every group g.
struct QuantRowBlocks {
  const QuantLayout& layout;  // of every matrix: [N, K]
  bool int8_rows = false;     // x in int8 too (q8a8)
  std::span<const QuantGroup> groups;
  View<const float, 2> x;          // [T, K]
  View<const float, 1> bias = {};  // [N]; may be null
  View<float, 2> y;                // [T, N]
};
void quant_apply_row_blocks(const QuantKernels& kernels, const QuantRowBlocks& a, Arena& scratch);

}  // namespace quern::kernels
