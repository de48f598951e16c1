// quant_kernels.h for this file's instruction set (its flags come from its name).
#define QUANT_TABLE quant_avx512bf16
#include "quern/kernels/quant/quant_impl.h"
