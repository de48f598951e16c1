#include "quern/corpus/tasks/task_plan.h"

#include <algorithm>

#include "quern/base/error.h"
#include "quern/base/mmap.h"
#include "quern/base/nearest.h"
#include "quern/corpus/dedup/dedup_parts.h"
#include "quern/corpus/stages/corpus_build.h"

namespace quern::corpus {
namespace {

namespace fs = std::filesystem;

constexpr const char *kKind = "corpus tasks 2", *kRowsKind = "corpus tasks of rows 1";

int64_t modified(const fs::path& file) { return fs::last_write_time(file).time_since_epoch().count(); }

std::string absolute(const std::string& path) {
  return path.empty() ? path : fs::absolute(path).lexically_normal().string();
}

// Tasks run in other folders than the one that planned them.
CorpusRecipe with_absolute_paths(CorpusRecipe r) {
  r.lists = absolute(r.lists);
  for (SourceSettings& s : r.source)
    for (std::string& p : s.paths) p = absolute(p);
  if (r.tokenize) r.tokenize->tokenizer = absolute(r.tokenize->tokenizer);
  return r;
}

// Ranges of files with about the same bytes, between places where a block ends in any case.
std::vector<uint64_t> divide(const Inputs& in, uint64_t block_bytes, uint64_t tasks) {
  const std::vector<bool> cuts = block_cuts(in, block_bytes);
  const uint64_t all = in.bytes();
  std::vector<uint64_t> first = {0};
  uint64_t before = 0;
  for (size_t f = 0; f + 1 < in.files.size() && first.size() < tasks; ++f) {
    before += in.files[f].bytes;
    // Where the even place lies nearer to this end than to the next.
    if (cuts[f] && (before + in.files[f + 1].bytes / 2) * tasks >= all * first.size()) first.push_back(f + 1);
  }
  return first;
}

std::vector<PlannedStage> stages_of(const CorpusRecipe& recipe, bool near, uint64_t shards, uint64_t tasks) {
  std::vector<PlannedStage> s = {{"sketch", shards, {}}, {"exact", tasks, {"sketch"}}};
  if (near) {
    s.push_back({"merge", tasks, {"exact"}});
    s.push_back({"join", 1, {"merge"}});
    s.push_back({"cluster", tasks, {"join"}});
  }
  s.push_back({"settle", tasks, {near ? "cluster" : "exact"}});
  s.push_back({"write", shards, {"settle"}});
  s.push_back({"parts", tasks, {"write"}});
  s.push_back({"finish", 1, {"parts"}});
  if (has_later_stages(recipe)) s.push_back({"later", 1, {"finish"}});
  return s;
}

std::vector<PlannedStage> stages_of(const RowStage& rows, uint64_t shards, uint64_t tasks) {
  return {{rows.verb, shards, {}}, {"parts", tasks, {rows.verb}}, {"finish", 1, {"parts"}}};
}

std::vector<PlannedTask> tasks_of(const TaskPlan& plan, const fs::path& file) {
  std::vector<PlannedTask> tasks;
  for (const PlannedStage& stage : plan.stages)
    for (uint64_t i = 0; i < stage.tasks; ++i) {
      PlannedTask t{.id = fmt::format("{}-{}", stage.name, i),
                    .stage = stage.name,
                    .command = {"quern", "corpus", "task", absolute(file.string())},
                    .after = stage.after,
                    .inputs = {},
                    .outputs = {(plan.work() / fmt::format("{}-{}", stage.name, i)).string()}};
      t.command.push_back(t.id);
      if (stage.name == "sketch" || stage.name == "write" || (plan.rows && stage.name == plan.rows->verb)) {
        const uint64_t end = i + 1 < plan.shards.size() ? plan.shards[i + 1] : plan.files.size();
        for (uint64_t f = plan.shards[i]; f < end; ++f) t.inputs.push_back(plan.files[f].path);
      }
      for (const std::string& before : stage.after) t.inputs.push_back((plan.work() / (before + "-*")).string());
      if (stage.name == "finish") t.outputs = {plan.out};
      if (stage.name == "later") t.inputs = t.outputs = {plan.out};
      tasks.push_back(std::move(t));
    }
  return tasks;
}

TaskPlan begin_plan(const char* kind, const CorpusRecipe& recipe, const Inputs& in, const PlanSettings& s) {
  TaskPlan plan;
  plan.tool = s.tool, plan.recipe = recipe, plan.block_bytes = s.block_bytes;
  plan.kind = kind, plan.folder = fs::current_path().string(), plan.out = absolute(s.out);
  refuse_pipes(in);
  plan.sources = in.sources;
  for (const InputFile& f : in.files)
    plan.files.push_back({fs::absolute(f.path).string(), form_name(f.form), f.source, f.bytes, modified(f.path)});
  plan.shards = divide(in, s.block_bytes, s.tasks);
  return plan;
}

void prepare_folder(const TaskPlan& plan) {
  refuse_finished(plan.out);
  RunFolder folder(plan.out, plan.identity, Ranks(), plan.names());
  if (!folder.state().is_null()) return;
  Json state = Json::object();
  state.set("phase", "tasks");
  folder.save(std::move(state));
}

void check_number_of_tasks(const PlanSettings& s) {
  if (s.tasks < 1 || s.tasks > kMaxFiles) fail("{} tasks: expected 1 to {}", s.tasks, kMaxFiles);
}

}  // namespace

TaskPlan TaskPlan::load(const fs::path& file) {
  TaskPlan plan;
  const Json j = Json::read(file);
  const Json* kind = j.find("kind");
  const std::string named = kind && kind->is_string() ? kind->as_string() : "";
  if (named != kKind && named != kRowsKind)
    fail("{}: expected a plan that quern corpus plan wrote ('{}')", file.string(), kKind);
  read_field(j, plan, file.string(), FieldPresence::optional);
  if (plan.rows.has_value() != (named == kRowsKind)) fail("{}: make the plan again", file.string());
  if (plan.shards.empty() || plan.files.empty() || plan.stages.empty() || plan.recipe.source.empty())
    fail("{}: a plan without files or stages: make it again with quern corpus plan", file.string());
  return plan;
}

void TaskPlan::save(const fs::path& file) const {
  TaskPlan copy = *this;
  write_file(file, write_value(copy).dump(1) + "\n");
}

DedupConfig TaskPlan::config() const {
  DedupConfig c = recipe.config();
  c.block_bytes = block_bytes;
  return c;
}

Inputs TaskPlan::inputs() const {
  Inputs in;
  in.sources = sources;
  for (const PlannedFile& f : files)
    in.files.push_back(
        {.path = f.path, .source = static_cast<uint32_t>(f.source), .form = form_named(f.form), .bytes = f.bytes});
  return in;
}

fs::path TaskPlan::work() const { return fs::path(out) / RunFolder::kName / "tasks"; }

const PlannedTask& TaskPlan::task(const std::string& id) const {
  const auto at = std::ranges::find(tasks, id, &PlannedTask::id);
  if (at != tasks.end()) return *at;
  std::vector<std::string> known;
  for (const PlannedTask& t : tasks) known.push_back(t.id);
  fail("'{}' is no task of the plan{}; its stages are listed under \"stages\"", id, did_you_mean(id, known));
}

bool TaskPlan::has_stage(const std::string& name) const {
  return std::ranges::find(stages, name, &PlannedStage::name) != stages.end();
}

const PlannedStage& TaskPlan::stage(const std::string& name) const {
  const auto at = std::ranges::find(stages, name, &PlannedStage::name);
  if (at == stages.end()) fail("the plan has no stage '{}'", name);
  return *at;
}

RunNames TaskPlan::names() const { return rows ? RunNames() : dedup_run_names(); }

TaskPlan plan_tasks(const CorpusRecipe& recipe, const PlanSettings& s) {
  check_number_of_tasks(s);
  const CorpusPlan build = plan_corpus(with_absolute_paths(recipe), {.out = absolute(s.out)});
  TaskPlan plan = begin_plan(kKind, build.recipe, build.inputs, s);
  plan.stages = stages_of(plan.recipe, build.dedup.near, plan.shards.size(), s.tasks);
  plan.models = plan.config().models_text();
  plan.identity = run_identity(build.inputs, fmt::format("{} {} {} {} {}", kKind, s.tasks, s.block_bytes,
                                                         plan.config().json().dump(), plan.models));
  plan.tasks = tasks_of(plan, s.file);
  FilterTable(build.inputs, build.dedup);  // what is wrong with a filter is told now
  prepare_folder(plan);
  return plan;
}

TaskPlan plan_rows(const PlannedRows& rows, const PlanSettings& s) {
  check_number_of_tasks(s);
  TaskPlan plan = begin_plan(kRowsKind, rows.recipe, rows.inputs, s);
  plan.rows = rows.stage;
  plan.stages = stages_of(rows.stage, plan.shards.size(), s.tasks);
  plan.models = rows.run.what;
  plan.identity =
      run_identity(rows.inputs, fmt::format("{} {} {} {} {}", kRowsKind, rows.stage.verb, s.tasks, s.block_bytes,
                                            filter_identity(rows.run, empty_filter_report(rows.run))));
  plan.tasks = tasks_of(plan, s.file);
  prepare_folder(plan);
  return plan;
}

}  // namespace quern::corpus
