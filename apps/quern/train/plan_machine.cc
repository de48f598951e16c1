#include "apps/quern/train/plan_machine.h"

#include <algorithm>

#include "apps/quern/bench/bench_model.h"
#include "quern/host/bench.h"
#include "quern/host/host.h"
#include "quern/plan/cost.h"
#include "quern/plan/model_config.h"

namespace quern::cli {
namespace {

constexpr int64_t kRows = 4, kLength = 512, kReps = 7;

double measure_step(const plan::ModelShape& s, int64_t rows) {
  const TrainStepTimes t =
      time_training_steps({.config = plan::model_config(s, kLength), .rows = rows, .length = kLength, .reps = kReps});
  return t.forward + t.backward;
}

double median_of(host::Bound b) {
  std::vector<double> v;
  for (int i = 0; i < 5; ++i) v.push_back(host::measure(b));
  return host::median(std::move(v));
}

double tokens() { return static_cast<double>(kRows * kLength); }
double flops(const plan::ModelShape& s) {
  return (3 * plan::matmul_flops(s) + 3.5 * plan::attention_flops(s, kLength)) * tokens();
}

}  // namespace

// Two unknowns, the speed of products inside a step and the bytes of the rest, from a narrow and a wide model.
plan::Machine measure_this_machine(plan::Family family) {
  const host::HostInfo info = host::host_info();
  plan::Machine m;
  m.name = info.cpu;
  m.memory_gib = static_cast<double>(info.memory_bytes) / (1024.0 * 1024 * 1024);
  m.memory_gbs = median_of(host::Bound::read);
  const double peak = median_of(host::Bound::bf16_flops) * 1e9;
  const plan::ModelShape narrow = plan::proportioned(family, 256, 8, 8192),
                         wide = plan::proportioned(family, 768, 6, 8192);
  const double narrow_s = measure_step(narrow, kRows), wide_s = measure_step(wide, kRows);
  // seconds = flops / rate + elements · tokens · bytes / bandwidth
  const double a1 = flops(narrow), b1 = plan::elements(narrow) * tokens(), a2 = flops(wide),
               b2 = plan::elements(wide) * tokens(), det = a1 * b2 - a2 * b1;
  const double per_flop = std::max((narrow_s * b2 - wide_s * b1) / det, 0.9 / peak);
  m.product_tflops = 1e-12 / per_flop;
  const double per_element = std::max(0.0, (narrow_s - a1 * per_flop) / b1);
  m.element_bytes = per_element * m.memory_gbs * 1e9;
  return m;
}

std::vector<StepCheck> check_steps(plan::Family family, const plan::Machine& m) {
  std::vector<StepCheck> all;
  for (const auto& [width, layers] : {std::pair<int64_t, int64_t>{384, 10}, {512, 6}, {640, 12}})
    for (const int64_t rows : {2, 8}) {
      StepCheck c{plan::proportioned(family, width, layers, 8192), rows};
      const plan::StepTime t = plan::step_time(c.shape, m, {.sequences = rows, .context = kLength, .micro = rows});
      c.predicted = t.products + t.attention + t.other;
      c.measured = measure_step(c.shape, rows);
      all.push_back(c);
    }
  return all;
}

}  // namespace quern::cli
