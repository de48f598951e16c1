// RUN/rollouts.jsonl: a line for every problem that was sampled, with its rewards, one answer, and the step that learned
// from it. A run that goes back to an earlier step takes its later lines away.
#pragma once
#include <filesystem>
#include <span>

#include "quern/rl/rollouts.h"

namespace quern::rl {

class RolloutLog {
 public:
  explicit RolloutLog(std::filesystem::path file) : file_(std::move(file)) {}
  void write(int64_t step, std::span<const RolloutGroup> groups) const;
  void discard_after(int64_t step) const;

 private:
  std::filesystem::path file_;
};

}  // namespace quern::rl
