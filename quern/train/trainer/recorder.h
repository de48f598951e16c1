// What a run writes down as it goes: metrics.jsonl and TensorBoard events on rank 0, nothing on the others.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "quern/train/report/metrics.h"
#include "quern/train/report/tensorboard.h"

namespace quern::train {

class Recorder {
 public:
  using Say = std::function<void(const std::string&)>;
  // resumed_at: as MetricsFile takes it. `say` hears of events.
  Recorder(const std::filesystem::path& run, int64_t resumed_at, Say say);
  Recorder() = default;  // of another rank: writes and says nothing

  void write(const StepMetrics& m);
  void write(const EvalMetrics& m);
  void write(const EventMetrics& m);
  void discard_after(int64_t step);  // training goes back to the state after `step`

 private:
  std::unique_ptr<MetricsFile> metrics_;
  std::unique_ptr<TensorboardFile> board_;
  Say say_;
};

}  // namespace quern::train
