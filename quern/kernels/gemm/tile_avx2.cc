// tile.h for this file's instruction set (its flags come from its name).
#define KERNELS tile_kernels_avx2
#define KERNELS_NAME "avx2"
#include "quern/kernels/gemm/tile_impl.h"
