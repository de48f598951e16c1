// Fast loss rows in vectors of 16 floats; the bodies are in cross_entropy_rows.h.
#include "quern/kernels/cross_entropy/cross_entropy_rows.h"

namespace quern::kernels {

constinit const LossTable cross_entropy_avx512 = kLossTable;

}  // namespace quern::kernels
