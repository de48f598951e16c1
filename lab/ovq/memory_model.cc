#include "lab/ovq/memory_model.h"

#include <algorithm>
#include <cmath>

#include "quern/optim/clip.h"
#include "quern/optim/groups.h"
#include "quern/optim/schedule.h"

namespace quern::lab {
namespace {

Json object(std::initializer_list<std::pair<const char*, Json>> fields) {
  Json j = Json::object();
  for (const auto& [key, value] : fields) j.set(key, value);
  return j;
}

optim::OptimizerConfig adamw() {
  optim::OptimizerConfig c;
  c.matrices = object({{"type", Json("adamw")}, {"weight_decay", Json(0.01)}});
  c.embeddings = c.matrices;
  return c;
}

}  // namespace

Json memory_mixer(const MemoryOfStudy& o, int64_t longest) {
  Json m = object({{"n_head", Json(int64_t{1})}, {"head_dim", Json(kMemoryWidth)}, {"key_shift", Json(true)}});
  if (o.kind == "softmax" || o.kind == "ovq") {
    // One chunk as long as any sequence: nothing is ever written, and the read is exact softmax attention.
    m.set("type", "ovq");
    m.set("rows", o.kind == "softmax" ? 1 : o.rows);
    m.set("chunk", o.kind == "softmax" ? longest : o.chunk);
    m.set("growth", o.growth), m.set("count_bias", o.count_bias), m.set("spread", o.spread);
    if (o.growth == "linear") m.set("horizon", longest);
  } else if (o.kind == "vq") {
    m.set("type", "vq_attention"), m.set("codes", o.rows), m.set("chunk", o.chunk);
  } else if (o.kind == "delta") {
    m.set("type", "gated_delta"), m.set("taps", int64_t{0}), m.set("decay", false), m.set("gate", false);
  } else if (o.kind == "gated-delta") {
    m.set("type", "gated_delta"), m.set("key_shift", false);  // its convolution is its shift
  } else if (o.kind == "linear") {
    m.set("type", "linear_attention");
  } else {
    fail("memory '{}', expected softmax, ovq, vq, delta, gated-delta or linear", o.kind);
  }
  for (const auto& [name, value] : o.fields) m.set(name, value);
  return m;
}

Json near_mixer() {
  return object({{"type", Json("attention")},
                 {"n_head", Json(int64_t{1})},
                 {"n_head_kv", Json(int64_t{1})},
                 {"head_dim", Json(kMemoryWidth)},
                 {"rotary_dims", Json(kMemoryWidth)},
                 {"window", Json(int64_t{16})}});
}

void start_weights(nn::Module& m, uint64_t seed) {
  nn::initialize(m, seed);
  m.visit("", [](const std::string&, grad::Parameter& p) {
    double std = 0;
    if (p.kind == grad::ParameterKind::matrix) std = 1 / std::sqrt(3.0 * static_cast<double>(p.shape.back()));
    if (p.kind == grad::ParameterKind::embedding) std = 0.1;
    if (std > 0 && p.init.value > 0)
      for (float& v : p.value.span<float>()) v *= static_cast<float>(std / p.init.value);
  });
}

double learn(nn::Module& m, const nn::Registry& registry, const Lessons& l,
             const std::function<grad::Var(grad::Tape& tape, int64_t step)>& loss_of,
             const std::function<void(int64_t step, double loss)>& progress) {
  optim::OptimizerGroups groups(m, registry, adamw());
  const optim::ScheduleConfig schedule{.shape = "linear",
                                       .peak = l.rate,
                                       .warmup = static_cast<double>(std::min(l.warmup, l.steps)),
                                       .total = static_cast<double>(l.steps)};
  double last = 0;
  for (int64_t step = 0; step < l.steps; ++step) {
    nn::zero_grad(m);
    grad::Tape tape;
    const grad::Var loss = loss_of(tape, step);
    tape.backward(loss);
    last = loss.value.item();
    if (!std::isfinite(last)) fail("step {}: the loss is {}; lower the learning rate", step, last);
    groups.step({.lr = optim::learning_rate(schedule, static_cast<double>(step + 1)),
                 .grad_scale = optim::clip_scale(optim::grad_norm(m), 1.0)});
    if (progress) progress(step + 1, last);
  }
  return last;
}

}  // namespace quern::lab
