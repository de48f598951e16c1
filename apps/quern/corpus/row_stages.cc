#include "apps/quern/corpus/row_stages.h"

#include <cstdio>
#include <filesystem>

#include "apps/quern/cli/progress.h"
#include "apps/quern/corpus/task_runners.h"
#include "quern/corpus/tasks/task_plan.h"

namespace quern::cli {

using namespace corpus;

void PlanFlags::check(const std::string& verb, ReportForm form) const {
  if (!tasks && !file.empty())
    throw UsageError(fmt::format("quern {}: --plan is for --tasks: say into how many the stage is divided", verb));
  if (!tasks) return;
  if (*tasks < 1) throw UsageError(fmt::format("quern {}: --tasks {}: expected 1 or more", verb, *tasks));
  if (form == ReportForm::json)
    throw UsageError(
        fmt::format("quern {}: --json prints what was counted, and with --tasks nothing is yet: "
                    "manifest.json has it when the plan was run",
                    verb));
}

std::string plan_file(const PlanFlags& plan, const std::string& out) {
  return !plan.file.empty() ? plan.file : (std::filesystem::path(out) / "").parent_path().string() + ".plan.json";
}

std::string labeled_in_words(const RowStage& stage, const FilterReport& r) {
  if (!stage.annotate || stage.annotate->labels.empty()) return "";
  if (r.labeled == 0)
    fmt::print(stderr,
               "warning: no document has an id of the side files: compare the ids in both, as they are written\n");
  return fmt::format(", {} of them with a row of the side files", r.labeled);
}

int report_rows(const RowStage& stage, const FilterReport& r, const Inputs& in, const std::string& out,
                ReportForm form) {
  report_resuming(out, r.went_on);
  warn_about_idle(r.idle_rules);
  warn_about_own_members(r.own_members);
  const std::string labeled = labeled_in_words(stage, r);
  const int status = warn_about(r.scan.read, r.scan.damaged, in);
  if (form == ReportForm::json) return status;
  if (stage.annotate)
    fmt::print("{}: {} documents annotated{}\n", out, r.kept, labeled);
  else
    fmt::print("{}: kept {} of {} documents\n", out, r.kept, r.scan.read.documents);
  print_rules(r, stdout);
  return status;
}

int run_row_stage(const CorpusFlags& flags, const RowStage& stage, const Inputs& in, const FilterRun& run,
                  ReportForm form) {
  Json j;
  FilterReport r;
  {
    Progress progress;
    r = filter_corpus(
        in, run,
        [&](uint64_t done, uint64_t total) { progress.share(stage.annotate ? "annotate" : "filter", done, total); },
        [&](const FilterReport& report) {
          j = write_manifest(flags.out, row_stage_json(flags.recipe, stage, in, report));
        });
  }
  const int status = report_rows(stage, r, in, flags.out, form);
  if (form == ReportForm::json) fmt::print("{}\n", j.dump());
  return status;
}

int plan_row_stage(const CorpusFlags& flags, const RowStage& stage, const Inputs& in, const PlanFlags& asked) {
  for (const InputFile& f : in.files)
    if (f.pipe)
      throw UsageError(
          fmt::format("quern corpus {}: --tasks {}: {} is read by this process alone, and tasks are others: write it "
                      "to a file first",
                      stage.verb, *asked.tasks, f.path.string()));
  const std::string file = plan_file(asked, flags.out);
  const TaskPlan plan =
      plan_rows(flags.recipe, stage, in,
                {.out = flags.out, .tasks = static_cast<uint64_t>(*asked.tasks), .file = file, .tool = {}});
  plan.save(file);
  // What folders hold beside inputs; nothing is lost before anything is read.
  static_cast<void>(warn_about({}, {}, in));
  report_plan(plan, file);
  return 0;
}

}  // namespace quern::cli
