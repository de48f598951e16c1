// attention_simd.h for this file's instruction set (its flags come from its name).
#define KERNELS attention_kernels_avx512bf16
#include "quern/kernels/attention/attention_simd_impl.h"
