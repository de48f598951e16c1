// What runs the tasks of a corpus plan: processes of this machine, or job arrays of Slurm.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "apps/quern/corpus/corpus_flags.h"
#include "quern/corpus/stages/mix.h"
#include "quern/corpus/stages/token_shards.h"
#include "quern/corpus/tasks/task_plan.h"

namespace quern::cli {

// "FILE: 12 tasks in 3 stages, …"
void report_plan(const corpus::TaskPlan& plan, const std::string& file);

// One task in this process; the last one says what was removed and what could not be read. Returns the exit status.
[[nodiscard]] int run_planned_task(const corpus::TaskPlan& plan, const std::string& id, ReportForm form);

// All tasks that are not done, `jobs` at a time, each in a process of its own with its share of the threads. One that is
// killed is started again, up to three times. Returns the exit status.
[[nodiscard]] int run_tasks_here(const corpus::TaskPlan& plan, const std::filesystem::path& file, int64_t jobs);

// Writes a job script per stage beside the plan and submits them with sbatch, as arrays that wait for each other. `extra`:
// further words for sbatch.
[[nodiscard]] int submit_to_slurm(const corpus::TaskPlan& plan, const std::filesystem::path& file,
                                  const std::vector<std::string>& extra);

// What came of a mixture, of tokens and of scores, as text on stdout unless that has JSON, and warnings; the exit
// status.
[[nodiscard]] int report_mix(const corpus::MixReport& r, const corpus::Inputs& in, const std::string& out,
                             ReportForm form);
[[nodiscard]] int report_tokens(const corpus::TokenShardReport& r, const corpus::Inputs& in, const std::string& out,
                                ReportForm form);
[[nodiscard]] int report_scores(const corpus::ScoreReport& r, const corpus::Inputs& in, const std::string& out);

}  // namespace quern::cli
