// quant_kernels.h for this file's instruction set (its flags come from its name): AVX-512 with byte products, on
// processors without products of bf16 or with slow ones.
#include "quern/kernels/quant/quant_fixed.h"
#define QUANT_TABLE quant_avx512vnni
#define QUANT_BYTE_PRODUCTS                                                                       \
  .q8a8_row_block = quant_q8a8_row_block, .to_fixed = quant_to_fixed, .q8_fixed = quant_q8_fixed, \
  .q4_fixed = quant_q4_fixed
#include "quern/kernels/quant/quant_rows_impl.h"
