// quern corpus plan | task | run: a build as tasks that any number of machines share.
#include <cstdio>
#include <filesystem>

#include "apps/quern/cli/args.h"
#include "apps/quern/corpus/cmd_corpus.h"
#include "apps/quern/corpus/corpus_flags.h"
#include "apps/quern/corpus/row_stages.h"
#include "apps/quern/corpus/task_runners.h"
#include "quern/base/mmap.h"
#include "quern/base/threads.h"
#include "quern/corpus/stages/corpus_build.h"
#include "quern/corpus/tasks/task_run.h"

namespace quern::cli {
namespace {

using namespace corpus;
namespace fs = std::filesystem;

// Relative paths in names of filters start where the plan was made.
TaskPlan load_plan(const std::string& file) {
  TaskPlan plan = TaskPlan::load(file);
  if (!fs::is_directory(plan.folder)) fail("{}: planned in {}, which is not here", file, plan.folder);
  fs::current_path(plan.folder);
  return plan;
}

}  // namespace

int run_planned_task(const TaskPlan& plan, const std::string& id, ReportForm form) {
  const PlannedTask& task = plan.task(id);
  PlanReport report;
  const std::optional<TaskCounters> counters = run_task(plan, id, &report);
  if (form == ReportForm::json) {
    Json j = Json::object();
    j.set("task", id), j.set("ran", counters.has_value());
    TaskCounters c = counters.value_or(TaskCounters());
    j.set("counters", write_value(c));
    fmt::print("{}\n", j.dump());
  }
  if (task.stage != "finish" || !counters) return 0;
  if (plan.mix) return report_mix(*report.mix, plan.inputs(), plan.out, form);
  if (plan.tokens) return report_tokens(*report.tokens, plan.inputs(), plan.out, form);
  if (plan.score) return report_scores(*report.score, plan.inputs(), plan.out);
  return plan.rows ? report_rows(*plan.rows, report.rows, plan.inputs(), plan.out, form)
                   : report_dedup(report.build, plan.inputs(), plan.out, form);
}

void report_plan(const TaskPlan& plan, const std::string& file) {
  fmt::print("{}: {} tasks in {} stages, {} files in {} shards\n", file, plan.tasks.size(), plan.stages.size(),
             plan.files.size(), plan.shards.size());
}

int corpus_plan(Words args) {
  std::string recipe;
  BuildTarget target{.setting = "--out"};
  PlanFlags plan_flags{.tasks = 8};
  Args a("corpus plan", "divide a build into tasks that one or many machines can run");
  a.positional("RECIPE.toml", recipe)
      .settings(target, {{"out"}, {"overwrite"}})
      .settings(plan_flags)
      .note(
          "The plan is a JSON file: stages, and for every task its inputs, outputs, command line, and the stages "
          "that\n"
          "it waits for. quern corpus run runs it, here or with Slurm; the output is that of quern corpus build.\n"
          "filter, extract, annotate, decontaminate, score, mix and tokenize have plans of their own: give them "
          "--tasks.\n"
          "Inputs and the output folder must be on a file system that all machines have.");
  if (!a.parse(args)) return 0;
  if (target.out.empty()) throw UsageError("quern corpus plan: --out is missing: expected a folder");
  plan_flags.check("corpus plan", ReportForm::text);
  const std::string file = plan_file(plan_flags, target.out);
  const CorpusRecipe loaded = CorpusRecipe::load(recipe);
  warn_about_bands(loaded.dedup, "bands = \"auto\"");
  const TaskPlan plan = plan_tasks(loaded, {.out = target.out,
                                            .tasks = static_cast<uint64_t>(*plan_flags.tasks),
                                            .file = file,
                                            .tool = tool("quern corpus plan"),
                                            .overwrite = target.overwrite,
                                            .setting = target.setting});
  warn_about_scope(plan.config(), plan.inputs());
  plan.save(file);
  report_plan(plan, file);
  return 0;
}

int corpus_task(Words args) {
  std::string file, id;
  bool json = false;
  Args a("corpus task", "run one task of a plan");
  a.positional("PLAN", file).positional("ID", id).json(json, "what the task counted");
  a.note(
      "A task that is done is not done again; one that was killed begins anew. Its result appears whole or not at "
      "all.");
  if (!a.parse(args)) return 0;
  const TaskPlan plan = load_plan(fs::absolute(file).string());
  // Inputs that are lost are named, and what follows in the plan is done all the same.
  static_cast<void>(run_planned_task(plan, id, json ? ReportForm::json : ReportForm::text));
  return 0;
}

int corpus_run(Words args) {
  std::string file, runner = "local";
  int64_t jobs = thread_count();
  std::vector<std::string> extra;
  Args a("corpus run", "run a plan: all its tasks, here or as job arrays of Slurm");
  a.positional("PLAN", file)
      .flag("--runner NAME", runner, "what runs the tasks: local, or slurm (sbatch)")
      .flag("-j,--jobs N", jobs, "local: number of tasks at a time")
      .flag("--sbatch WORD", extra, "slurm: one more word for sbatch, such as --partition=long; repeatable")
      .note("Started again, a plan resumes with the tasks that are not done.");
  if (!a.parse(args)) return 0;
  if (runner != "local" && runner != "slurm")
    throw UsageError(fmt::format("quern corpus run: --runner '{}': expected local or slurm", runner));
  if (jobs < 1) throw UsageError(fmt::format("quern corpus run: --jobs {}: expected 1 or more", jobs));
  if (runner == "local" && !extra.empty()) throw UsageError("quern corpus run: --sbatch is for --runner slurm");
  const fs::path plan_file = fs::absolute(file);
  const TaskPlan plan = load_plan(plan_file.string());
  return runner == "slurm" ? submit_to_slurm(plan, plan_file, extra) : run_tasks_here(plan, plan_file, jobs);
}

}  // namespace quern::cli
