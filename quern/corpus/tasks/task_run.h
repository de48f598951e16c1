// Runs one task of a plan. A task that is done is not done again, and one that was killed begins anew: its result is a
// folder that gets its name when it is complete. Two processes may run the same task; the first to end is heard.
#pragma once
#include <optional>
#include <string>

#include "quern/corpus/tasks/task_work.h"

namespace quern::corpus {

// What the last task put into the manifest.
struct PlanReport {
  DedupReport build;  // of a build
  FilterReport rows;  // of another stage, or:
  std::optional<MixReport> mix;
  std::optional<TokenShardReport> tokens;
  std::optional<ScoreReport> score;
};

bool task_done(const TaskPlan& plan, const PlannedTask& task);
// report: gets what finish-0 counted.
// Throws Error when a task that it waits for is not done, or when OUT is no longer this plan's. Null: it was done before.
std::optional<TaskCounters> run_task(const TaskPlan& plan, const std::string& id, PlanReport* report = nullptr);

}  // namespace quern::corpus
