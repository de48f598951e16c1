// The latent query/key path of CCA as one operation with a hand-written backward: convolutions, q/k mean, L2 norm with
// temperature, rotary positions.  z [T, C] → q [T, Hq, d], k [T, Hkv, d].
#pragma once
#include <vector>

#include "quern/mixers/cca/cca_mixer.h"

namespace quern {

struct LatentParameters {
  Parameter *dw_w, *dw_b, *gc_w, *gc_b;  // [C, 1, t0], [C], [C, d, t1], [C]; null where the convolution is absent
  Parameter* temp;                       // [Hkv]
};

// tails: [segments][P, C] rows of z before each segment, or empty (zeros). When given they are replaced by the new ones.
std::vector<Var> latent_qk(Tape& tape, const CcaConfig& c, const Var& z_TC, const LatentParameters& p, const Batch& batch,
                           std::span<const double> inv_freq, std::vector<Tensor*> tails);

// m (added into out): mq[h] = ½(q[h] + k[h/G]), mk[j] = ½(mean of the group's q + k[j]).
template <class T>
void add_qk_mean(View<const T, 3> z_THd, int64_t n_head, View<T, 3> out_THd);
template <class T>
void add_qk_mean_backward(View<const T, 3> g_THd, int64_t n_head, View<T, 3> gz_THd);

}  // namespace quern
