// Fast rotation in vectors of 8 floats; the bodies are in rope_rows.h.
#include "quern/kernels/rope/rope_rows.h"

namespace quern::kernels {

constinit const RopeTable rope_avx2 = kRopeTable;

}  // namespace quern::kernels
