#include "quern/optim/adamw/adamw.h"

#include <cmath>

#include "quern/base/threads.h"

namespace quern {

AdamW::AdamW(Module& model, AdamWOptions options) : o_(options) {
  model.visit("", [&](const std::string&, Parameter& p) {
    if (p.trainable) slots_.push_back({&p, Tensor::zeros(p.shape, DType::f32), Tensor::zeros(p.shape, DType::f32)});
  });
}

void AdamW::step(double lr) {
  for (Slot& s : slots_) {
    if (!s.p->grad.defined()) continue;
    ++s.t;
    float* w = s.p->value.data<float>();
    const float* g = s.p->grad.data<float>();
    float *m = s.m.data<float>(), *v = s.v.data<float>();
    float b1 = static_cast<float>(o_.beta1), b2 = static_cast<float>(o_.beta2), eps = static_cast<float>(o_.eps);
    float step = static_cast<float>(lr / (1 - std::pow(o_.beta1, static_cast<double>(s.t))));
    float root = static_cast<float>(1 / (1 - std::pow(o_.beta2, static_cast<double>(s.t))));
    float keep = s.p->shape.size() >= 2 ? static_cast<float>(1 - lr * o_.weight_decay) : 1.0f;
    parallel_for(s.p->value.size(), 1 << 14, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        m[i] = b1 * m[i] + (1 - b1) * g[i];
        v[i] = b2 * v[i] + (1 - b2) * g[i] * g[i];
        w[i] = keep * w[i] - step * m[i] / (std::sqrt(v[i] * root) + eps);
      }
    });
  }
}

double clip_grad_norm(Module& model, double limit) {
  double sum = 0;
  auto each = [&](auto&& f) {
    model.visit("", [&](const std::string&, Parameter& p) {
      if (p.trainable && p.grad.defined()) f(p.grad.span<float>());
    });
  };
  each([&](std::span<float> g) {
    double part = 0;
    for (float x : g) part += static_cast<double>(x) * x;
    sum += part;
  });
  double norm = std::sqrt(sum);
  if (norm > limit) {
    float k = static_cast<float>(limit / norm);
    each([&](std::span<float> g) {
      for (float& x : g) x *= k;
    });
  }
  return norm;
}

}  // namespace quern
