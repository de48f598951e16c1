// tile.h for this file's instruction set (its flags come from its name), without its products.
#define BF16_BY_FMA
#define KERNELS tile_kernels_avx512bf16_fma
#define KERNELS_NAME "avx512bf16 by fma"
#include "quern/kernels/gemm/tile_impl.h"
