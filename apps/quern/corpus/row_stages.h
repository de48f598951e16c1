// What filter, extract, annotate and decontaminate share: a run in this process, or a plan of tasks (--tasks), and what is said of either.
#pragma once
#include <optional>
#include <string>

#include "apps/quern/corpus/corpus_flags.h"
#include "quern/corpus/stages/row_stage.h"
#include "quern/corpus/tasks/task_plan.h"

namespace quern::cli {

struct PlanFlags {
  std::optional<int64_t> tasks;  // none: the stage runs here
  std::string file = {};
  bool asked() const { return tasks.has_value(); }
  template <class V>
  void visit(V& v) {
    v("tasks", tasks, "number of tasks per stage, about as many as processes that will run");
    v("plan", file, "where to write the plan", {.value = "FILE", .shown_default = "OUT.plan.json"});
  }
  void check(const std::string& verb, ReportForm form) const;  // throws UsageError
};
constexpr const char* kPlanNote =
    "With --tasks, nothing is read yet: a plan is written for quern corpus run, which runs it here or with Slurm, "
    "with the\n"
    "bytes of one process. Inputs and the output folder must be on a file system that all machines have.";
std::string stream_and_plan_note();  // of stages that write to standard output too

// --plan, or OUT.plan.json.
std::string plan_file(const PlanFlags& plan, const std::string& out);
// Throws UsageError when one can be read by this process alone. verb: "corpus mix".
void refuse_pipe(const std::string& verb, const corpus::Inputs& in);
// Writes the plan and says so; returns the exit status.
[[nodiscard]] int save_plan(const corpus::TaskPlan& plan, const corpus::Inputs& in, const std::string& file);

// The stage as the command line has it, loaded.
struct RowCommand {
  const CorpusFlags& flags;
  const corpus::RowStage& stage;
  const corpus::Inputs& inputs;
  const corpus::RowStageRun& loaded;
};
// The stage here, or its plan where that is asked for; returns the exit status.
[[nodiscard]] int run_or_plan(const RowCommand& c, const PlanFlags& plan, ReportForm form);

// What came of it, as text on stdout unless that has JSON, and warnings.
[[nodiscard]] int report_rows(const corpus::RowStage& stage, const corpus::FilterReport& r, const corpus::Inputs& in,
                              const std::string& out, ReportForm form);
// How many rows had an id of a side file; warns where none had.
std::string labeled_in_words(const corpus::RowStage& stage, const corpus::FilterReport& r);

}  // namespace quern::cli
