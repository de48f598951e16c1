#include "quern/train/finetune/finetune_settings.h"

#include <algorithm>
#include <cmath>

namespace quern::train {
namespace {

constexpr double kPreferenceRate =
    0.1;  // times that of other fine-tuning: pairs of answers tell of small differences

}  // namespace

double finetune_rate(int64_t width) {
  return std::clamp(5e-4 * std::pow(2048.0 / static_cast<double>(std::max<int64_t>(width, 1)), 0.7), 1e-4, 4e-3);
}

Recipe finetune_recipe(const FinetuneSettings& s, const FinetuneMethod& method, const FinetuneShape& shape) {
  const bool pairs = method.preference.on();
  Recipe r;
  r.name = "finetune", r.dtype = s.dtype, r.seed = s.seed;
  r.activation_checkpointing = s.activation_checkpointing;
  r.base = shape.data, r.model.from = shape.model.string(), r.adapter = method.adapter;
  PhaseConfig p;
  p.name = "finetune";
  p.sequence_length = shape.sequence_length;
  p.batch_size = std::min(s.batch_size, shape.sequences);
  p.steps =
      s.steps > 0 ? s.steps : std::max<int64_t>(1, (s.epochs * shape.sequences + p.batch_size - 1) / p.batch_size);
  p.preference = method.preference;
  p.micro_batch_size = pairs ? (p.batch_size + 1) / 2 : 0;  // a pair is two sequences
  p.schedule.peak = s.lr > 0 ? s.lr : finetune_rate(shape.width) * (pairs ? kPreferenceRate : 1);
  p.schedule.final = 0.1 * p.schedule.peak;
  p.schedule.warmup = std::ceil(0.05 * static_cast<double>(p.steps)), p.schedule.total = static_cast<double>(p.steps);
  p.data = {{.path = "train", .packing = "pack"}};
  r.eval.every = std::max<int64_t>(1, p.steps / s.evaluations);
  r.eval.sequences = shape.held_out, r.eval.sequence_length = shape.sequence_length;
  r.eval.data = {{.path = "held-out", .packing = "pack"}};
  r.checkpoint.every = r.eval.every;
  r.phase = {p};
  return r;
}

}  // namespace quern::train
