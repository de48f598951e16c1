// Fast low-rank products in vectors of 8 floats; the bodies are in low_rank_body.h.
#include "quern/kernels/low_rank/low_rank_body.h"

namespace quern::kernels {

constinit const LowRankTable low_rank_avx2 = kLowRankTable;

}  // namespace quern::kernels
