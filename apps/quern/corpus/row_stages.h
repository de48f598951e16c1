// What filter, extract, annotate and decontaminate share: a run in this process, or a plan of tasks (--tasks), and what is said of either.
#pragma once
#include <optional>
#include <string>

#include "apps/quern/corpus/corpus_flags.h"
#include "quern/corpus/stages/row_stage.h"

namespace quern::cli {

struct PlanFlags {
  std::optional<int64_t> tasks;  // none: the stage runs here
  std::string file = {};
  bool asked() const { return tasks.has_value(); }
  template <class V>
  void visit(V& v) {
    v("tasks", tasks, "number of tasks per stage, about as many as processes that will run");
    v("plan", file, "where to write the plan", {.value = "FILE", .shown_default = "DIR.plan.json"});
  }
  void check(const std::string& verb, ReportForm form) const;  // throws UsageError
};
constexpr const char* kStreamAndPlanNote =
    "With --out -, rows go to standard output as JSON lines, and what is said to standard error.\n"
    "With --tasks, nothing is read yet: a plan is written for quern corpus run, which runs it here or with Slurm, "
    "with the\n"
    "bytes of one process. Inputs and the output folder must be on a file system that all machines have.";

// --plan, or OUT.plan.json.
std::string plan_file(const PlanFlags& plan, const std::string& out);

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
