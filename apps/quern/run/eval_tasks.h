// quern eval --tasks: a model on the questions of a task file.
#pragma once
#include <string>

#include "apps/quern/models/context.h"
#include "quern/reason/evaluation.h"

namespace quern::cli {

struct TaskEval {
  std::string model, file, split;  // split: all, train or heldout
  std::string log, against;
  int64_t count = 0, samples = 1;  // tasks, from the first; 0: all. Samples of each
  bool json = false;
  reason::EvaluationOptions options;
};

int eval_tasks(const TaskEval& e, const models::LoadOptions& weights);

}  // namespace quern::cli
