// The latent query/key path of CCA as one operation with a hand-written backward: convolutions, q/k mean, L2 norm
// with temperature, rotary positions.  z [T, C] → q [T, Hq, d], k [T, Hkv, d].
#pragma once
#include <vector>

#include "quern/mixers/cca/cca_mixer.h"

namespace quern::mixers {

struct LatentParameters {
  grad::Parameter *dw_w, *dw_b, *gc_w,
      *gc_b;              // [C, 1, t0], [C], [C, d, t1], [C]; null where the convolution is absent
  grad::Parameter* temp;  // [Hkv]
};

struct LatentInputs {
  grad::Var z_TC;
  std::span<const double> inv_freq = {};  // rotary frequencies; none: heads are not rotated
  // [segments][P, C] rows of z before each segment, replaced by the new ones; none: zeros.
  std::vector<Tensor*> tails = {};
};
std::vector<grad::Var> latent_qk(grad::Tape& tape, const CcaConfig& c, const LatentInputs& x,
                                 const LatentParameters& p, const Batch& batch);

// T, or exp(T) where the form asks for it; the gradient of the latter is scaled by exp(T) again.
Tensor effective_temperature(const CcaConfig& c, const Tensor& temp);

}  // namespace quern::mixers
