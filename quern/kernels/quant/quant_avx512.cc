// quant_kernels.h for this file's instruction set (its flags come from its name).
#define QUANT_TABLE quant_avx512
#include "quern/kernels/quant/quant_rows_impl.h"
