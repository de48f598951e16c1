// The line of a training run on stderr.
#pragma once
#include "apps/quern/cli/progress.h"
#include "quern/train/trainer/trainer.h"

namespace quern::cli {

// Every step on a terminal, else every ten seconds of steps.
class StepLine {
 public:
  void show(const train::Trainer& t);
  void end() { line_.end(); }

 private:
  LiveLine line_;
  double smooth_ = 0, pace_ = 0, since_ = 1e9;
};

}  // namespace quern::cli
