// This machine as a plan sees it, from a few seconds of measuring: products, memory, and real training steps of small
// models, which tell what everything but products costs here.
#pragma once
#include "quern/plan/machine.h"
#include "quern/plan/shape.h"

namespace quern::cli {

plan::Machine measure_this_machine(plan::Family family);

// Real steps of shapes that the measurement did not use, beside what is predicted for them.
struct StepCheck {
  plan::ModelShape shape;
  int64_t rows = 0;
  double predicted = 0, measured = 0;  // seconds of forward and backward pass
};
std::vector<StepCheck> check_steps(plan::Family family, const plan::Machine& m);

}  // namespace quern::cli
