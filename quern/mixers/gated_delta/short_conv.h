// Short causal depthwise convolution followed by SiLU, on a tape: kernels/ssm/causal_conv.h with the last rows carried
// between tokens. w [C, 1, K] as in checkpoints; state part "conv": the last K − 1 rows.
#pragma once
#include "quern/mixers/mixer.h"

namespace quern::mixers {

StatePart short_conv_part(int64_t taps, int64_t channels, DType kv);
grad::Var short_conv(grad::Tape& tape, const grad::Var& x_TC, grad::Parameter& w_C1K, const Batch& batch, int site);

}  // namespace quern::mixers
