// Mixture and tokens as tasks see them: as stages that stand alone, from a plan of their own, or as later stages of a
// build, planned when the documents that they read lie there. Such a plan is never written down: every task makes it
// again from the build's plan and folder, and its results lie in OUT/mixed/unfinished and OUT/tokens.unfinished.
#pragma once
#include <optional>
#include <string>

#include "quern/corpus/stages/build.h"
#include "quern/corpus/tasks/task_plan.h"

namespace quern::corpus {

// What the plan's tasks do; the output is that of one process with this job.
MixJob mix_job(const TaskPlan& plan);
TokenJob token_job(const TaskPlan& plan);

enum class LaterPart { none, mixture, tokens };
LaterPart later_part(const TaskPlan& build, const std::string& stage);  // none too: finish, later, and stages before

// What is done of a plan, looked up as often as is asked; plans of later stages are made once.
class PlanProgress {
 public:
  explicit PlanProgress(const TaskPlan& plan) : plan_(plan) {}
  bool done(const PlannedTask& task);
  bool done();                            // all of it
  const TaskPlan& later(LaterPart part);  // throws Error when what it reads is not there
 private:
  bool later_done(const PlannedTask& task);
  const TaskPlan& plan_;
  std::optional<TaskPlan> mixture_, tokens_;
  bool done_ = false;
};

}  // namespace quern::corpus
