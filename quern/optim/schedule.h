// Learning rate schedules: pure functions of training progress (steps or tokens, as the recipe counts), so a resumed
// run has the rate of an uninterrupted one. The value is the learning rate itself, not a factor.
//   constant  peak
//   linear    peak → final over [warmup, total]
//   cosine    peak → final along half a cosine
//   wsd       peak until the last `decay`, then peak → final (linearly, or as 1 − √)
// All begin with a linear warmup from start to peak over `warmup`. To re-warm a trained model for annealing, add a
// phase: wsd with start = the previous rate, peak ≈ 0.75 × the old one and decay = everything after the warmup.
#pragma once
#include <string>

namespace quern::optim {

struct ScheduleConfig {
  std::string shape = "cosine";  // constant, linear, cosine, wsd
  double peak = 6e-4, start = 0, final = 0;
  double warmup = 0, decay = 0, total = 0;  // in the recipe's unit
  std::string decay_shape = "linear";       // of wsd: linear, sqrt, cosine
  template <class V>
  void visit(V& v) {
    v("shape", shape, "shape of the schedule: constant, linear, cosine or wsd");
    v("peak", peak, "highest learning rate");
    v("start", start, "learning rate at the beginning of the warmup");
    v("final", final, "learning rate at the end");
    v("warmup", warmup, "length of the linear warmup; below 1 a fraction of the stage");
    v("decay", decay, "length of the decay at the end (wsd); below 1 a fraction of the stage");
    v("total", total, "length of the whole schedule");
    v("decay_shape", decay_shape, "shape of the decay of wsd: linear, sqrt or cosine");
  }
};

void check(const ScheduleConfig& c);  // throws Error naming the field
double learning_rate(const ScheduleConfig& c, double at);

}  // namespace quern::optim
