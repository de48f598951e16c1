// The policy loss of one token: its value, and its slope by log π(token). A: advantage, ρ = π / μ, where μ is the policy
// that sampled the token and π the one that learns.
//   reinforce   −A·log π
//   importance  −min(ρ, max_ratio)·A·log π, the factor held fixed
//   dppo        the same, but 0 for tokens that have moved far enough: π − μ > δ with A > 0, π − μ < −δ with A ≤ 0
//               (binary total variation, arXiv 2602.04879); dppo_kl measures how far by the KL of {token, any other}
//   ppo         −min(ρ·A, clip(ρ, 1 − clip_low, 1 + clip_high)·A)
// plus kl · (e^(r − log π) − (r − log π) − 1), where r is the reference's log-probability. What a factor held fixed
// multiplies is reported as −min(ρ, max_ratio)·A.
#pragma once
#include <cstdint>

#include "quern/kernels/cross_entropy/head_objective.h"
#include "quern/train/recipe/rl_config.h"

namespace quern::rl {

enum class LossKind { reinforce, importance, dppo, dppo_kl, ppo };
LossKind loss_kind(const std::string& name);

struct PolicyToken {
  double sampled = 0;    // log μ
  double advantage = 0;  // A
  double reference = 0;  // r, of a loss with KL
};

class PolicyLoss {
 public:
  explicit PolicyLoss(const train::PolicyLossConfig& c) : c_(c), kind_(loss_kind(c.kind)) {}
  // `logprob` is log π as the tape computes it. The ratio and the mask compare `current` with what was sampled: the same
  // value, or one that the sampling engine's own forward pass gave.
  kernels::TokenTerm operator()(const PolicyToken& t, double logprob, double current) const;
  bool masked(const PolicyToken& t, double current) const;  // no gradient through the ratio

 private:
  train::PolicyLossConfig c_;
  LossKind kind_;
};

}  // namespace quern::rl
