#include "quern/rl/policy_loss.h"

#include <algorithm>
#include <cmath>

#include "quern/base/error.h"

namespace quern::rl {
namespace {

constexpr double kMaxLogRatio = 20;  // beyond, e^x is cut by max_ratio anyway

// KL of {this token, any other} between two policies, in nats.
double binary_kl(double q, double p) {
  constexpr double kTiny = 1e-12;
  const auto part = [=](double a, double b) { return a < kTiny ? 0 : a * std::log(a / std::max(b, kTiny)); };
  return part(q, p) + part(1 - q, 1 - p);
}

}  // namespace

LossKind loss_kind(const std::string& name) {
  if (name == "reinforce") return LossKind::reinforce;
  if (name == "importance") return LossKind::importance;
  if (name == "dppo") return LossKind::dppo;
  if (name == "dppo_kl") return LossKind::dppo_kl;
  if (name == "ppo") return LossKind::ppo;
  fail("policy loss '{}': expected dppo, dppo_kl, ppo, importance or reinforce", name);
}

bool PolicyLoss::masked(const PolicyToken& t, double current) const {
  const bool up = t.advantage > 0;
  if (kind_ == LossKind::ppo) {
    const double ratio = std::exp(std::min(current - t.sampled, kMaxLogRatio));
    return up ? ratio > 1 + c_.clip_high : ratio < 1 - c_.clip_low;
  }
  if (kind_ != LossKind::dppo && kind_ != LossKind::dppo_kl) return false;
  const double p = std::exp(current), q = std::exp(t.sampled);
  const bool further = up ? p > q : p < q;  // a step on would move away
  const bool far = kind_ == LossKind::dppo ? std::abs(p - q) > c_.delta : binary_kl(q, p) > c_.delta;
  return far && (further || c_.two_sided);
}

kernels::TokenTerm PolicyLoss::operator()(const PolicyToken& t, double logprob, double current) const {
  const double ratio = std::exp(std::min(current - t.sampled, kMaxLogRatio)), a = t.advantage;
  kernels::TokenTerm term;
  if (kind_ == LossKind::reinforce) {
    term = {-a * logprob, -a};
  } else if (kind_ == LossKind::ppo) {
    const double clipped = std::clamp(ratio, 1 - c_.clip_low, 1 + c_.clip_high);
    term = {-std::min(ratio * a, clipped * a), masked(t, current) ? 0 : -a * ratio};
  } else if (!masked(t, current)) {
    const double cut = std::min(ratio, c_.max_ratio);
    term = {-cut * a, -cut * a};
  }
  if (c_.kl > 0) {
    const double d = t.reference - logprob, e = std::exp(std::min(d, kMaxLogRatio));
    term.loss += c_.kl * (e - d - 1);
    term.slope += c_.kl * (1 - e);
  }
  return term;
}

}  // namespace quern::rl
