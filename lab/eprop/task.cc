// Episodes drawn at random.
#include "lab/eprop/task.h"

#include "quern/base/error.h"

namespace quern::lab {
namespace {

// Cues, one every `period` steps, each on for `on`.
struct TaskPlan {
  std::string_view name;
  int64_t inputs, cues, period, on;
};
constexpr TaskPlan kPlans[] = {{"motif", 5, 3, 5, 3}, {"recall", 3, 1, 1, 1}, {"evidence", 3, 7, 3, 2}};

const TaskPlan& plan_of(EpropTask task) { return kPlans[static_cast<size_t>(task)]; }

}  // namespace

EpropTask eprop_task(std::string_view name) {
  for (size_t i = 0; i < std::size(kPlans); ++i)
    if (name == kPlans[i].name) return static_cast<EpropTask>(i);
  fail("task '{}': expected motif, recall or evidence", name);
}

int64_t task_inputs(EpropTask task) { return plan_of(task).inputs; }

Episodes draw_episodes(const EpropTaskOptions& o, int64_t batch, Rng& rng) {
  if (o.delay < 0) fail("delay {}: expected 0 or more steps", o.delay);
  if (batch < 1) fail("batch {}: expected 1 or more episodes", batch);
  const TaskPlan& plan = plan_of(o.task);
  const int64_t D = plan.inputs;
  Episodes e{.steps = plan.cues * plan.period + o.delay + 1, .batch = batch, .x = {}, .label = {}};
  e.x.resize(static_cast<size_t>(e.steps * D * batch));
  for (double& x : e.x) x = o.noise * rng.normal();
  e.label.assign(static_cast<size_t>(e.steps * batch), -1);
  const auto at = [&](int64_t t, int64_t channel, int64_t b) -> double& {
    return e.x[static_cast<size_t>((t * D + channel) * batch + b)];
  };
  for (int64_t b = 0; b < batch; ++b) {
    int up = 0;
    for (int64_t k = 0; k < plan.cues; ++k) {
      const int sign = rng.below(2) ? 1 : -1;
      up += sign;
      for (int64_t i = 0; i < plan.on; ++i) {
        const int64_t t = k * plan.period + i;
        if (o.task == EpropTask::motif) {
          at(t, 0, b) += sign * o.amplitude * static_cast<double>(i - 1);
          at(t, 1 + k, b) += 1;
        } else if (o.task == EpropTask::recall) {
          at(t, 0, b) += sign, at(t, 1, b) += 1;
        } else {
          at(t, sign > 0 ? 1 : 0, b) += 1;
        }
      }
    }
    at(e.steps - 1, D - 1, b) += 1;
    e.label[static_cast<size_t>((e.steps - 1) * batch + b)] = up > 0;
  }
  return e;
}

}  // namespace quern::lab
