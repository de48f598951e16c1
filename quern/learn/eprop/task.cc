// Episodes drawn at random.
#include "quern/learn/eprop/task.h"

#include "quern/base/error.h"

namespace quern {
namespace {

constexpr int64_t kRamps = 3, kRampSteps = 3, kPeriod = 5;  // of a ramp and the gap behind it

}  // namespace

EpropTask eprop_task(std::string_view name) {
  if (name == "motif") return EpropTask::motif;
  if (name == "recall") return EpropTask::recall;
  fail("task '{}': expected motif or recall", name);
}

int64_t task_inputs(EpropTask task) { return task == EpropTask::motif ? 1 + kRamps + 1 : 3; }

Episodes draw_episodes(const EpropTaskOptions& o, int64_t batch, Rng& rng) {
  if (o.delay < 0) fail("delay {}: expected 0 or more steps", o.delay);
  if (batch < 1) fail("batch {}: expected 1 or more episodes", batch);
  const bool motif = o.task == EpropTask::motif;
  const int64_t D = task_inputs(o.task);
  Episodes e{.steps = (motif ? kRamps * kPeriod : 1) + o.delay + 1, .batch = batch, .x = {}, .label = {}};
  e.x.resize(static_cast<size_t>(e.steps * D * batch));
  for (double& x : e.x) x = o.noise * rng.normal();
  e.label.assign(static_cast<size_t>(e.steps * batch), -1);
  const auto at = [&](int64_t t, int64_t channel, int64_t b) -> double& {
    return e.x[static_cast<size_t>((t * D + channel) * batch + b)];
  };
  for (int64_t b = 0; b < batch; ++b) {
    int up = 0;
    for (int64_t k = 0; k < (motif ? kRamps : 1); ++k) {
      const int sign = rng.below(2) ? 1 : -1;
      up += sign;
      for (int64_t i = 0; motif && i < kRampSteps; ++i) {
        at(k * kPeriod + i, 0, b) += sign * o.amplitude * static_cast<double>(i - 1);
        at(k * kPeriod + i, 1 + k, b) += 1;
      }
      if (!motif) at(0, 0, b) += sign, at(0, 1, b) += 1;
    }
    at(e.steps - 1, D - 1, b) += 1;
    e.label[static_cast<size_t>((e.steps - 1) * batch + b)] = up > 0;
  }
  return e;
}

}  // namespace quern
