#include "quern/train/trainer/spikes.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace quern {
namespace {

double median_of(std::vector<double> v) {
  auto middle = v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2);
  std::nth_element(v.begin(), middle, v.end());
  return *middle;
}

}  // namespace

double SpikeWatch::line() const {
  if (policy_.window < 1 || 2 * static_cast<int64_t>(losses_.size()) < policy_.window)
    return std::numeric_limits<double>::infinity();
  std::vector<double> v(losses_.begin(), losses_.end());
  double middle = median_of(v);
  for (double& x : v) x = std::abs(x - middle);
  return middle + std::max(policy_.min_increase, policy_.mads * median_of(v));
}

SpikeWatch::Verdict SpikeWatch::see(double loss) {
  if (!std::isfinite(loss)) return Verdict::not_a_number;
  if (loss > line()) return ++high_ >= policy_.patience ? Verdict::spike : Verdict::high;
  high_ = 0;
  if (policy_.window < 1) return Verdict::fine;
  losses_.push_back(loss);
  if (static_cast<int64_t>(losses_.size()) > policy_.window) losses_.pop_front();
  return Verdict::fine;
}

Json SpikeWatch::save() const {
  Json j = Json::object(), all = Json::array();
  for (double x : losses_) all.push(x);
  j.set("losses", all), j.set("high", high_);
  return j;
}

void SpikeWatch::load(const Json& j) {
  losses_.clear();
  for (const Json& x : j.at("losses", "spikes").as_array("spikes, losses")) losses_.push_back(x.as_double("loss"));
  high_ = j.at("high", "spikes").as_int("spikes, high");
}

}  // namespace quern
