#include "quern/train/trainer/loss_spike_detector.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace quern::train {
namespace {

double median_of(std::vector<double> v) {
  auto middle = v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2);
  std::nth_element(v.begin(), middle, v.end());
  return *middle;
}

}  // namespace

double LossSpikeDetector::line() const {
  if (policy_.window < 1 || 2 * static_cast<int64_t>(losses_.size()) < policy_.window)
    return std::numeric_limits<double>::infinity();
  std::vector<double> v(losses_.begin(), losses_.end());
  double middle = median_of(v);
  for (double& x : v) x = std::abs(x - middle);
  return middle + std::max(policy_.min_increase, policy_.mads * median_of(v));
}

LossSpikeDetector::LossState LossSpikeDetector::see(double loss) {
  if (!std::isfinite(loss)) return LossState::not_a_number;
  if (loss > line()) return ++high_ >= policy_.patience ? LossState::spike : LossState::high;
  high_ = 0;
  if (policy_.window < 1) return LossState::fine;
  losses_.push_back(loss);
  if (static_cast<int64_t>(losses_.size()) > policy_.window) losses_.pop_front();
  return LossState::fine;
}

std::optional<std::string> LossSpikeDetector::fault(double loss, double grad_norm) {
  switch (see(std::isfinite(grad_norm) ? loss : grad_norm)) {
    case LossState::spike:
      return fmt::format("loss {:.4f} stayed above {:.4f}", loss, line());
    case LossState::not_a_number:
      return not_finite(loss, grad_norm);
    case LossState::fine:
    case LossState::high:
      break;
  }
  return std::nullopt;
}

std::optional<std::string> LossSpikeDetector::not_finite(double loss, double grad_norm) {
  if (std::isfinite(loss) && std::isfinite(grad_norm)) return std::nullopt;
  return fmt::format("loss {} and gradient norm {} are not both finite", loss, grad_norm);
}

Json LossSpikeDetector::save() const {
  Json j = Json::object(), all = Json::array();
  for (double x : losses_) all.push(x);
  j.set("losses", all), j.set("high", high_);
  return j;
}

void LossSpikeDetector::load(const Json& j) {
  losses_.clear();
  for (const Json& x : j.at("losses", "spikes").as_array("spikes, losses")) losses_.push_back(x.as_double("loss"));
  high_ = j.at("high", "spikes").as_int("spikes, high");
}

}  // namespace quern::train
