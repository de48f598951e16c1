#include "apps/quern/run/demo_training.h"

#include <cmath>
#include <numbers>

#include "apps/quern/models/context.h"
#include "quern/base/error.h"
#include "quern/base/stopwatch.h"
#include "quern/optim/clip.h"
#include "quern/optim/groups.h"

namespace quern::cli {
namespace {

struct PackedBatch {
  std::vector<int32_t> ids, targets;
  std::vector<int64_t> lengths;
  void add(const std::vector<int32_t>& doc) {  // inputs are all but the last token, targets all but the first
    ids.insert(ids.end(), doc.begin(), doc.end() - 1);
    targets.insert(targets.end(), doc.begin() + 1, doc.end());
    lengths.push_back(static_cast<int64_t>(doc.size()) - 1);
  }
};

// Warm-up over the first 5 % of the budget, then a cosine down to a twentieth.
double schedule(double done) {
  if (done < 0.05) return (done + 0.002) / 0.052;
  double t = (done - 0.05) / 0.95;
  return 0.05 + 0.95 * 0.5 * (1 + std::cos(std::numbers::pi * std::min(1.0, t)));
}

}  // namespace

DemoProgress train_demo(models::ZayaModel& model, const std::function<std::vector<int32_t>(uint64_t)>& document,
                        const DemoOptions& o, const std::function<bool(const DemoProgress&)>& on_step) {
  optim::OptimizerConfig optimizers;
  optimizers.matrices = Json::parse(R"({"type": "adamw", "beta2": 0.98, "weight_decay": 0.02})");
  optimizers.embeddings = optimizers.others = Json::parse(R"({"type": "adamw", "beta2": 0.98, "weight_decay": 0})");
  optim::OptimizerGroups optimizer(model, nn::builtin_registry(), optimizers);
  DemoProgress p;
  uint64_t next = 0;
  const Stopwatch watch;
  while (p.share_done < 1) {
    PackedBatch batch;
    while (static_cast<int64_t>(batch.ids.size()) < o.tokens_a_step) batch.add(document(next++));
    nn::zero_grad(model);
    grad::Tape tape;
    grad::Var loss =
        model.loss(tape, model.hidden(tape, batch.ids, mixers::Batch::documents(batch.lengths)), batch.targets);
    tape.backward(loss);
    if (!std::isfinite(loss.value.item())) fail("the loss is not a number (NaN) at step {}", p.step);
    p.lr = o.peak_lr * schedule(p.share_done);
    optimizer.step({.lr = p.lr, .grad_scale = optim::clip_scale(optim::grad_norm(model), o.clip)});
    p.loss = loss.value.item();
    p.tokens += static_cast<int64_t>(batch.ids.size());
    ++p.step;
    p.seconds = watch.seconds();
    p.share_done = p.seconds / o.seconds;
    if (!on_step(p)) break;
  }
  return p;
}

double held_out_loss(models::Model& model, const std::vector<std::vector<int32_t>>& documents) {
  PackedBatch batch;
  for (const auto& d : documents) batch.add(d);
  grad::Tape tape(grad::Tape::inference);
  return model.loss(tape, model.hidden(tape, batch.ids, mixers::Batch::documents(batch.lengths)), batch.targets)
      .value.item();
}

}  // namespace quern::cli
