#include "quern/optim/adamw/adamw.h"

#include <cmath>

#include "quern/base/config.h"
#include "quern/kernels/dispatch.h"
#include "quern/nn/registry.h"
#include "quern/optim/adamw/adamw_simd.h"

namespace quern::optim {
namespace {

void update_ref(const AdamWStep& a, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const float g = a.g[i] * a.grad_scale;
    a.m[i] = a.beta1 * a.m[i] + (1 - a.beta1) * g;
    a.v[i] = a.beta2 * a.v[i] + (1 - a.beta2) * g * g;
    a.w[i] = a.keep * a.w[i] - a.step * a.m[i] / (std::sqrt(a.v[i]) * a.root + a.eps);
  }
}

AdamWStep scalars(const AdamWOptions& o, double lr, double grad_scale, int64_t t) {
  AdamWStep a{};
  a.beta1 = static_cast<float>(o.beta1), a.beta2 = static_cast<float>(o.beta2), a.eps = static_cast<float>(o.eps);
  a.keep = static_cast<float>(1 - lr * o.weight_decay);
  a.step = static_cast<float>(lr / (1 - std::pow(o.beta1, static_cast<double>(t))));
  a.root = static_cast<float>(1 / std::sqrt(1 - std::pow(o.beta2, static_cast<double>(t))));
  a.grad_scale = static_cast<float>(grad_scale);
  return a;
}

void run(const AdamWStep& a, int64_t n) {
  const AdamWTable* fast = kernels::fast_table(adamw_avx2, adamw_avx512);
  fast ? fast->update(a, n) : update_ref(a, n);
}

constexpr const char *kM = "m", *kV = "v", *kStep = "step";  // parts of the state

}  // namespace

void adamw_update(const AdamWPiece& p, const AdamWOptions& o, double lr, double grad_scale, int64_t t) {
  AdamWStep a = scalars(o, lr, grad_scale, t);
  a.w = p.w, a.g = p.g, a.m = p.m, a.v = p.v;
  run(a, p.n);
}

AdamW::AdamW(AdamWOptions options) : o_(options) {
  auto in_unit = [](const char* field, double b) {
    if (!(b >= 0 && b < 1)) fail("optimizer adamw, {}: {}, expected 0 ≤ {} < 1", field, b, field);
  };
  in_unit("beta1", o_.beta1), in_unit("beta2", o_.beta2);
  if (!(o_.eps >= 0)) fail("optimizer adamw, eps: {}, expected 0 or more", o_.eps);
  if (!(o_.weight_decay >= 0)) fail("optimizer adamw, weight_decay: {}, expected 0 or more", o_.weight_decay);
}

std::vector<OptimizerPart> AdamW::state(const std::string&, const grad::Parameter& p) const {
  return {{kM, DType::f32, p.shape}, {kV, DType::f32, p.shape}, {kStep, DType::i64, {1}}};
}

void AdamW::step(std::span<OptimizerSlot* const> slots, const OptimizerStep& s) const {
  for (OptimizerSlot* slot : slots) ++*slot->state.at(kStep).data<int64_t>();
  each_piece(slots, [&](OptimizerSlot& slot, int64_t begin, int64_t end) {
    const grad::Parameter& p = *slot.parameter;
    adamw_update({p.value.data<float>() + begin, p.grad.data<float>() + begin,
                  slot.state.at(kM).data<float>() + begin, slot.state.at(kV).data<float>() + begin, end - begin},
                 o_, s.lr * slot.lr_scale, s.grad_scale, *slot.state.at(kStep).data<int64_t>());
    refresh_working(slot, begin, end);
  });
}

void register_adamw(nn::Registry& r) {
  r.optimizers.add("adamw", [](const Json& j) -> std::unique_ptr<Optimizer> {
    AdamWOptions o;
    from_json(j, o, "optimizer adamw", UnknownKeys::refuse);
    return std::make_unique<AdamW>(o);
  });
}

}  // namespace quern::optim
