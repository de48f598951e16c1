#include "quern/train/trainer/recorder.h"

#include <fmt/format.h>

namespace quern::train {

Recorder::Recorder(const std::filesystem::path& run, int64_t resumed_at, Say say)
    : metrics_(std::make_unique<MetricsFile>(run, resumed_at)),
      board_(std::make_unique<TensorboardFile>(run / "tensorboard", resumed_at)),
      say_(std::move(say)) {}

void Recorder::write(const StepMetrics& m) {
  if (metrics_) metrics_->write(m), board_->write(m);
}

void Recorder::write(const EvalMetrics& m) {
  if (metrics_) metrics_->write(m), board_->write(m);
}

void Recorder::write(const EventMetrics& m) {
  if (!metrics_) return;
  metrics_->write(m);
  say_(fmt::format("step {}: {}", m.step, m.text));
}

void Recorder::discard_after(int64_t step) {
  if (metrics_) metrics_->discard_after(step), board_->discard_after(step);
}

}  // namespace quern::train
