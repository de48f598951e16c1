#include "quern/rl/advantages.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "quern/base/error.h"

namespace quern::rl {
namespace {

constexpr double kEpsilon = 1e-6;

double mean_of(std::span<const double> x) {
  return std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size());
}

double deviation_of(std::span<const double> x, double mean) {  // of a sample
  double squares = 0;
  for (double v : x) squares += (v - mean) * (v - mean);
  return x.size() < 2 ? 0 : std::sqrt(squares / static_cast<double>(x.size() - 1));
}

}  // namespace

bool has_signal(std::span<const double> rewards) {
  return std::any_of(rewards.begin(), rewards.end(), [&](double r) { return r != rewards[0]; });
}

std::vector<double> advantages(const std::string& kind, std::span<const double> rewards) {
  return advantages(kind, rewards, std::vector<double>(rewards.size()));
}

std::vector<double> advantages(const std::string& kind, std::span<const double> rewards,
                               std::span<const double> bonus) {
  QUERN_CHECK(rewards.size() == bonus.size());
  std::vector<double> out(rewards.size());
  const bool moved = std::any_of(bonus.begin(), bonus.end(), [](double b) { return b != 0; });
  if (rewards.empty() || (!has_signal(rewards) && !moved)) return out;
  const double mean = mean_of(rewards), n = static_cast<double>(rewards.size());
  double by = 1;
  if (kind == "maxrl")
    by = 1 / (mean + kEpsilon);
  else if (kind == "grpo")
    by = has_signal(rewards) ? 1 / (deviation_of(rewards, mean) + kEpsilon) : 1;
  else if (kind == "rloo")
    by = n / (n - 1);
  else if (kind != "centered")
    fail("advantage '{}': expected maxrl, grpo, centered or rloo", kind);
  for (size_t i = 0; i < out.size(); ++i) out[i] = (rewards[i] + bonus[i] - mean) * by;
  return out;
}

std::vector<double> LengthBonus::of(std::span<const double> rewards, std::span<const int64_t> tokens,
                                    double best) const {
  std::vector<double> out(rewards.size());
  const auto right = [&](size_t i) { return rewards[i] == 1; };
  int64_t shortest = 0, count = 0;
  for (size_t i = 0; i < rewards.size(); ++i) {
    if (!right(i)) continue;
    shortest = count++ == 0 ? tokens[i] : std::min(shortest, tokens[i]);
  }
  const double success = static_cast<double>(count) / static_cast<double>(std::max<size_t>(1, rewards.size()));
  if (config.weight == 0 || count < 2 || success < best - config.margin) return out;
  const int64_t longest = config.max_tokens > 0 ? config.max_tokens : max_tokens;
  for (size_t i = 0; i < out.size(); ++i) {
    if (!right(i)) continue;
    const double room = static_cast<double>(std::max<int64_t>(1, longest - shortest));
    const double share = tokens[i] <= shortest + config.tolerance
                             ? 0.5
                             : 0.5 - std::clamp(static_cast<double>(tokens[i] - shortest) / room, 0.0, 1.0);
    out[i] = config.weight * success * share;
  }
  return out;
}

}  // namespace quern::rl
