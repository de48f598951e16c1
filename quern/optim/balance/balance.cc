#include "quern/optim/balance/balance.h"

#include <cmath>

#include "quern/base/config.h"
#include "quern/nn/registry.h"

namespace quern::optim {
namespace {

constexpr const char *kM = "m", *kV = "v", *kStep = "step";  // parts of the state

}  // namespace

BiasBalancer::BiasBalancer(BalanceOptions o) : o_(o) {
  for (auto [field, value] : {std::pair{"beta1", o.beta1}, {"beta2", o.beta2}})
    if (!(value >= 0 && value < 1)) fail("optimizer balance, {}: {}, expected 0 ≤ {} < 1", field, value, field);
  if (!(o.lr >= 0)) fail("optimizer balance, lr: {}, expected 0 or more", o.lr);
}

std::vector<OptimizerPart> BiasBalancer::state(const std::string& name, const grad::Parameter& p) const {
  if (p.kind != grad::ParameterKind::balance)
    fail("optimizer balance: {} is no balancing bias (nothing counts its load)", name);
  return {{kM, DType::f32, p.shape}, {kV, DType::f32, p.shape}, {kStep, DType::i64, {1}}};
}

void BiasBalancer::step(std::span<OptimizerSlot* const> slots, const OptimizerStep&) const {
  for (OptimizerSlot* slot : slots) {
    grad::Parameter& p = *slot->parameter;
    std::span<const float> counts = p.grad.span<float>();
    double total = 0;
    for (float c : counts) total += c;
    if (total == 0) continue;
    OptimizerState& state = slot->state;
    float *m = state.at(kM).data<float>(), *v = state.at(kV).data<float>(), *b = p.value.data<float>();
    const double t = static_cast<double>(++*state.at(kStep).data<int64_t>());
    const double c1 = 1 - std::pow(o_.beta1, t), c2 = 1 - std::pow(o_.beta2, t);
    for (size_t j = 0; j < counts.size(); ++j) {
      const double g = counts[j] / total - 1.0 / static_cast<double>(counts.size());
      m[j] = static_cast<float>(o_.beta1 * m[j] + (1 - o_.beta1) * g);
      v[j] = static_cast<float>(o_.beta2 * v[j] + (1 - o_.beta2) * g * g);
      b[j] -= static_cast<float>(o_.lr * slot->lr_scale * (m[j] / c1) / (std::sqrt(v[j] / c2) + o_.eps));
    }
  }
}

void register_balance(nn::Registry& r) {
  r.optimizers.add("balance", [](const Json& j) -> std::unique_ptr<Optimizer> {
    BalanceOptions o;
    from_json(j, o, "optimizer balance", UnknownKeys::refuse);
    return std::make_unique<BiasBalancer>(o);
  });
}

}  // namespace quern::optim
