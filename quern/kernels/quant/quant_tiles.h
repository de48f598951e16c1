// Quantized multiplication by matrix tiles (gemm/amx_product.h), for any number of rows: q8 and q4 unpacked to bf16, q8a8
// in bytes from where they lie. One matrix, or several of one shape together.
#pragma once
#include "quern/kernels/quant/quant_row_blocks.h"

namespace quern::kernels {

void quant_apply_tiles(const QuantKernels& kernels, const QuantRowBlocks& a, Arena& scratch);

}  // namespace quern::kernels
