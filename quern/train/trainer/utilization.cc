#include "quern/train/trainer/utilization.h"

#include <algorithm>

#include "quern/host/host.h"
#include "quern/trace/op_counters.h"
#include "quern/train/trainer/batch_source.h"
#include "quern/train/trainer/gradients.h"

namespace quern::train {
namespace {

constexpr int64_t kMeasuredTokens = 2048;  // sampled texts are seldom longer, whatever room there is for them

}  // namespace

double training_flops_per_token(models::Model& model, const Recipe& recipe, size_t phase) {
  const PhaseConfig& p = recipe.phase[phase];
  data::TokenBatch b;
  if (p.data.empty()) {  // the phase samples its own: any tokens take as many operations
    const int64_t n = std::min(p.sequence_length, kMeasuredTokens);
    b.tokens.assign(static_cast<size_t>(n), 0), b.targets = b.tokens, b.lengths = {n};
  } else {
    b = data::Loader(p.data, p.sequence_length, 0, recipe.base).next(1);
    check_tokens(b, model, fmt::format("phase '{}'", p.name));
  }
  const int64_t before = trace::matmul_flops.load();
  grad::Tape tape(grad::Tape::inference, precision_of(recipe));
  model.loss(tape, model.hidden(tape, b.tokens, mixers::Batch::documents(b.lengths)), b.targets);
  return 3.0 * static_cast<double>(trace::matmul_flops.load() - before) / static_cast<double>(b.tokens.size());
}

double peak_flops(const Recipe& recipe) {
  return host::measure(recipe.dtype == "bf16" ? host::Bound::bf16_flops : host::Bound::f32_flops) * 1e9;
}

}  // namespace quern::train
