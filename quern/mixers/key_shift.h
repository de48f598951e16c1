// Key shift: keys that mix in the previous token's key, k'_t = w ⊙ k_t + (1 − w) ⊙ k_{t−1}, w = σ(μ) per channel,
// k_{−1} = 0 at the start of a sequence. Without it a layer cannot tell "what came after" from its keys alone. State
// part "shift": the last k. Backward: gk_t = w ⊙ g_t + (1 − w) ⊙ g_{t+1},  gμ = Σ_t g_t ⊙ (k_t − k_{t−1}) ⊙ w(1 − w).
#pragma once
#include "quern/mixers/mixer.h"

namespace quern::mixers {

StatePart key_shift_part(int64_t channels, DType kv);
grad::Var key_shift(grad::Tape& tape, const grad::Var& k_TC, grad::Parameter& mu_C, const Batch& batch, int site);

}  // namespace quern::mixers
