// Fast low-rank products in vectors of 16 floats; the bodies are in low_rank_body.h.
#include "quern/kernels/low_rank/low_rank_body.h"

namespace quern::kernels {

constinit const LowRankTable low_rank_avx512 = kLowRankTable;

}  // namespace quern::kernels
