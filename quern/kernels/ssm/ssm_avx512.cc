// Gated norm, causal convolution and selective scan, in vectors of 16 floats; the bodies are in ssm_rows.h.
#include "quern/kernels/ssm/ssm_rows.h"

namespace quern::kernels {

constinit const SsmTable ssm_avx512 = kSsmTable;

}  // namespace quern::kernels
