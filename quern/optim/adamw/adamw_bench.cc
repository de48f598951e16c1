// AdamW over 64 Mi elements in parameters of uneven size, far larger than the caches: seven words of memory traffic
// per element.
#include "quern/host/bench.h"
#include "quern/kernels/bench_data.h"
#include "quern/optim/adamw/adamw.h"
#include "quern/optim/clip.h"

namespace quern::optim {

void bench_optim_adamw(host::Bench& b) {
  AdamW adamw({});
  std::vector<grad::Parameter> parameters;
  for (int64_t n : {int64_t{3} << 20, int64_t{20} << 20, int64_t{4096}, int64_t{41} << 20}) {
    grad::Parameter& p = parameters.emplace_back(Shape{n}, grad::Init::normal());
    p.value = kernels::random_f32({n}, 1), p.grad = kernels::random_f32({n}, 2);
  }
  std::vector<OptimizerSlot> slots(parameters.size());
  std::vector<OptimizerSlot*> at;
  double elements = 0;
  for (size_t i = 0; i < slots.size(); ++i) {
    slots[i].parameter = &parameters[i];
    slots[i].state = OptimizerState(adamw.state("w", parameters[i]));
    elements += static_cast<double>(parameters[i].value.size());
    at.push_back(&slots[i]);
  }
  b.row("adamw", "64Mi f32", {host::Bound::copy, 28 * elements}, [&] { adamw.step(at, {.lr = 1e-4}); });
  double keep = 0;
  b.row("grad_norm", "41Mi f32", {host::Bound::read, 4.0 * static_cast<double>(parameters[3].grad.size())},
        [&] { keep += sum_of_squares(parameters[3].grad.span<float>()); });
}

}  // namespace quern::optim
