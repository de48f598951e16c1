#include "quern/optim/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "quern/base/error.h"

namespace quern::optim {
namespace {

double fall(const std::string& shape, double t) {  // 1 at t = 0, 0 at t = 1
  if (shape == "cosine") return 0.5 * (1 + std::cos(std::numbers::pi * t));
  return shape == "sqrt" ? 1 - std::sqrt(t) : 1 - t;
}

}  // namespace

void check(const ScheduleConfig& c) {
  auto one_of = [](const char* field, const std::string& value, std::initializer_list<const char*> known) {
    if (std::find(known.begin(), known.end(), value) == known.end())
      fail("schedule, {}: '{}', expected {}", field, value, fmt::join(known, ", "));
  };
  auto at_least_zero = [](const char* field, double value) {
    if (!(value >= 0 && std::isfinite(value))) fail("schedule, {}: {}, expected 0 or more", field, value);
  };
  one_of("shape", c.shape, {"constant", "linear", "cosine", "wsd"});
  one_of("decay_shape", c.decay_shape, {"linear", "sqrt", "cosine"});
  at_least_zero("peak", c.peak), at_least_zero("start", c.start), at_least_zero("final", c.final);
  at_least_zero("warmup", c.warmup), at_least_zero("decay", c.decay), at_least_zero("total", c.total);
  if (c.shape == "constant") return;
  if (c.total <= c.warmup) fail("schedule, total: {} must be more than warmup {}", c.total, c.warmup);
  if (c.shape == "wsd" && c.decay > c.total - c.warmup)
    fail("schedule, decay: {} does not fit between warmup {} and total {}", c.decay, c.warmup, c.total);
}

double learning_rate(const ScheduleConfig& c, double at) {
  if (at < c.warmup) return c.start + (c.peak - c.start) * std::max(0.0, at) / c.warmup;
  if (c.shape == "constant") return c.peak;
  double begin = c.shape == "wsd" ? c.total - c.decay : c.warmup, length = c.total - begin;
  double t = length > 0 ? std::clamp((at - begin) / length, 0.0, 1.0) : (at >= c.total ? 1.0 : 0.0);
  return c.final + (c.peak - c.final) * fall(c.shape == "wsd" ? c.decay_shape : c.shape, t);
}

}  // namespace quern::optim
