// Fast row norms in vectors of 8 floats; the bodies are in norm_rows.h.
#include "quern/kernels/norm/norm_rows.h"

namespace quern::kernels {

constinit const NormTable norm_avx2 = kNormTable;

}  // namespace quern::kernels
