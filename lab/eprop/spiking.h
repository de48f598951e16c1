// A stack of spiking layers: leaky integrate-and-fire units, a share of which adapt. Layer l, step t, with z_{−1} = 0:
//   v_t = (1 − α) v_{t−1} + W z_{t−1} + F x_t + b − θ z_{t−1},   a_t = ρ a_{t−1} + z_{t−1}
//   z_t = 1 where v_t > θ + β a_t, else 0;   ψ_t = γ/θ · max(0, 1 − |v_t − θ − β a_t| / θ) replaces its derivative
// x of the first layer is the input, of every other one z_t of the layer below. The readout sees a trace of the top
// layer, k_t = κ k_{t−1} + (1 − κ) z_t. No derivative goes through the reset −θ z. A unit's state is (v, a), so that
// the Jacobian through time has blocks of 2 × 2, and deep e-prop keeps those on the diagonal:
//   ε^v_t = (1 − α) ε^v_{t−1} + W_kk e_{t−1} + Σ_q F_kq e^{below}_t (in a weight's own layer: its input)
//   ε^a_t = ρ ε^a_{t−1} + e_{t−1},   e_t = ψ_t (ε^v_t − β ε^a_t),   gradient: Σ_t L_t · (trace κ of e)_t
#pragma once
#include "lab/eprop/credit.h"

namespace quern::lab {

void check(const SpikingUnits& u);  // throws Error
// β of unit i: adapt_strength · (1 − ρ) / α, or 0 for the first units of a layer, which do not adapt.
double adaptation(const StackShape& s, int64_t layer, int64_t unit);
double adaptation_kept(const StackShape& s);  // ρ

StackRun run_spiking(const StackShape& s, const StackWeights& w, const Episodes& e);  // h: spikes
StackWeights spiking_adjoint(const StackShape& s, const StackWeights& w, const Episodes& e, const StackRun& r,
                             CreditRule rule);
// Forwards; bptt takes whole Jacobians.
StackWeights spiking_traces(const StackShape& s, const StackWeights& w, const Episodes& e, const StackRun& r,
                            CreditRule rule);

}  // namespace quern::lab
