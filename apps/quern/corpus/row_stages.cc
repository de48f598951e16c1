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

std::string stream_and_plan_note() {
  return fmt::format(
      "With --out -, rows go to standard output as JSON lines, and what is said to standard error.\n{}", kPlanNote);
}

void refuse_pipe(const std::string& verb, const Inputs& in) {
  for (const InputFile& f : in.files)
    if (f.pipe)
      throw UsageError(
          fmt::format("quern {}: --tasks: {} is read by this process alone, and tasks are others: write it to a file "
                      "first",
                      verb, f.path.string()));
}

int save_plan(const TaskPlan& plan, const Inputs& in, const std::string& file) {
  plan.save(file);
  // What folders hold beside inputs; nothing is lost before anything is read.
  static_cast<void>(warn_about({}, {}, in));
  report_plan(plan, file);
  return 0;
}

std::string labeled_in_words(const RowStage& stage, const FilterReport& r) {
  if (!stage.annotate) return "";
  if (const corpus::ReadCounts& read = r.scan.read; read.own_ids > 0 && read.own_ids < read.documents)
    fmt::print(stderr,
               "warning: {} of {} documents have an id of their own; the others are numbered by their places, and a "
               "number may be the id of another one: labels joined by it may be that one's\n",
               read.own_ids, read.documents);
  if (stage.annotate->labels.empty()) return "";
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
  if (!stage.decontaminate) print_rules(r, stdout);
  return status;
}

namespace {

int run_here(const RowCommand& c, ReportForm form) {
  FilterRun run = c.loaded.run;
  run.to = c.flags.output();
  Json j;
  FilterReport r;
  {
    Progress progress;
    r = filter_corpus(
        c.inputs, run, [&](uint64_t done, uint64_t total) { progress.share(c.stage.verb, done, total); },
        [&](const FilterReport& report) {
          j = write_manifest(c.flags.out, row_stage_json(c.loaded.settings, c.inputs, report));
        });
  }
  const int status = report_rows(c.stage, r, c.inputs, c.flags.out, form);
  if (form == ReportForm::json) fmt::print("{}\n", j.dump());
  return status;
}

int write_plan(const RowCommand& c, const PlanFlags& asked) {
  const std::string file = plan_file(asked, c.flags.out);
  const TaskPlan plan =
      plan_rows({.recipe = c.flags.recipe, .stage = c.stage, .inputs = c.inputs, .run = c.loaded.run},
                {.out = c.flags.out, .tasks = static_cast<uint64_t>(*asked.tasks), .file = file, .tool = {}});
  return save_plan(plan, c.inputs, file);
}

}  // namespace

int run_or_plan(const RowCommand& c, const PlanFlags& plan, ReportForm form) {
  const std::string verb = "corpus " + c.stage.verb;
  if (plan.asked()) refuse_pipe(verb, c.inputs), refuse_pipe(verb, c.loaded.benchmarks.inputs);
  c.flags.clear_output(c.inputs);
  return plan.asked() ? write_plan(c, plan) : run_here(c, form);
}

}  // namespace quern::cli
