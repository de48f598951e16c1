// The parts of chunked SSD that are not matrix products, in vectors of 8 floats; the bodies are in ssd_rows.h.
#include "quern/kernels/ssm/ssd_rows.h"

namespace quern::kernels {

constinit const SsdTable ssd_avx2 = kSsdTable;

}  // namespace quern::kernels
