#include "quern/corpus/tasks/task_plan.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <utility>

#include "quern/base/error.h"
#include "quern/base/mmap.h"
#include "quern/base/nearest.h"
#include "quern/corpus/dedup/dedup_parts.h"
#include "quern/corpus/io/run_manifest.h"
#include "quern/corpus/stages/corpus_build.h"
#include "quern/corpus/tasks/later_plan.h"
#include "quern/text/unicode/utf8.h"

namespace quern::corpus {
namespace {

namespace fs = std::filesystem;

constexpr const char *kKind = "corpus tasks 4", *kRowsKind = "corpus tasks of rows 2",
                     *kMixKind = "corpus tasks of a mixture 2", *kTokensKind = "corpus tasks of tokens 2",
                     *kScoresKind = "corpus tasks of scores 2";

int64_t modified(const fs::path& file) { return fs::last_write_time(file).time_since_epoch().count(); }

std::string absolute(const std::string& path) {
  return path.empty() ? path : fs::absolute(path).lexically_normal().string();
}

// Tasks run in other folders than the one that planned them. Paths of sources stay, as rows and recipe.json have them:
// tasks read the files that the plan lists.
CorpusRecipe with_absolute_paths(CorpusRecipe r) {
  r.lists = absolute(r.lists);
  if (r.tokenize) r.tokenize->tokenizer = absolute(r.tokenize->tokenizer);
  return r;
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
  std::string before = "finish";
  const auto add = [&](std::vector<PlannedStage> more) {
    more[0].after = {before};
    for (PlannedStage& one : more) s.push_back(std::move(one));
    before = s.back().name;
  };
  if (recipe.mix) add(mix_stages(tasks, tasks));
  if (recipe.tokenize) add(token_stages(tasks, tasks));
  if (has_later_stages(recipe)) s.push_back({"later", 1, {before}});
  return s;
}

std::vector<PlannedStage> stages_of(const RowStage& rows, uint64_t shards, uint64_t tasks) {
  return {{rows.verb, shards, {}}, {"parts", tasks, {rows.verb}}, {"finish", 1, {"parts"}}};
}

bool reads_inputs(const TaskPlan& plan, const std::string& stage) {
  if (plan.rows) return stage == plan.rows->verb;
  if (plan.is_build()) return stage == "sketch" || stage == "write";
  return stage == "count" || stage == "pick" || stage == "tokenize" || stage == "score";
}

std::vector<PlannedTask> tasks_of(const TaskPlan& plan, const fs::path& file) {
  std::vector<PlannedTask> tasks;
  bool later = false;  // behind the manifest of a build
  for (const PlannedStage& stage : plan.stages)
    for (uint64_t i = 0; i < stage.tasks; ++i) {
      PlannedTask t{.id = fmt::format("{}-{}", stage.name, i),
                    .stage = stage.name,
                    .command = {"quern", "corpus", "task", absolute(file.string())},
                    .after = stage.after,
                    .inputs = {},
                    .outputs = {(plan.work() / fmt::format("{}-{}", stage.name, i)).string()}};
      t.command.push_back(t.id);
      if (reads_inputs(plan, stage.name)) {
        const uint64_t end = i + 1 < plan.shards.size() ? plan.shards[i + 1] : plan.files.size();
        for (uint64_t f = plan.shards[i]; f < end; ++f) t.inputs.push_back(plan.files[f].path);
      }
      for (const std::string& before : stage.after) t.inputs.push_back((plan.work() / (before + "-*")).string());
      if (stage.name == "finish") t.outputs = {plan.out};
      if (later) t.inputs = t.outputs = {plan.out};
      later |= plan.is_build() && stage.name == "finish";
      tasks.push_back(std::move(t));
    }
  return tasks;
}

TaskPlan begin_plan(const char* kind, const CorpusRecipe& recipe, const Inputs& in, const PlanSettings& s) {
  TaskPlan plan;
  plan.tool = s.tool, plan.recipe = recipe, plan.block_bytes = s.block_bytes;
  plan.kind = kind, plan.folder = fs::current_path().string(), plan.out = absolute(s.out);
  refuse_pipes(in);
  plan.sources = in.sources, plan.files = planned_files(in);
  plan.shards = divide_files(in, s.block_bytes, s.tasks);
  return plan;
}

void prepare_folder(const TaskPlan& plan) {
  const RunNames names = plan.names();
  if (plan.shares_folder())
    refuse_finished_files(plan.manifest(), names.whole_files);
  else
    refuse_finished(plan.out);
  RunFolder folder(plan.base(), plan.identity, Ranks(), names);
  if (!folder.state().is_null()) return;
  Json state = Json::object();
  state.set("phase", "tasks");
  folder.save(std::move(state));
}

void check_number_of_tasks(const PlanSettings& s) {
  if (s.tasks < 1 || s.tasks > kMaxFiles) fail("{} tasks: expected 1 to {}", s.tasks, kMaxFiles);
}

// Names of files may have bytes that JSON does not: those are written as %XX, behind a mark.
constexpr std::string_view kByteMark = "bytes:";

std::string json_path(const std::string& path) {
  if (text::utf8_error(path) == path.npos && !path.starts_with(kByteMark)) return path;
  std::string out(kByteMark);
  for (const char c : path)
    if (c == '%' || static_cast<unsigned char>(c) >= 0x80)
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    else
      out += c;
  return out;
}

std::string path_of_json(const std::string& written) {
  if (!written.starts_with(kByteMark)) return written;
  std::string path;
  for (size_t i = kByteMark.size(); i < written.size(); ++i) {
    unsigned byte = 0;
    const char* digits = written.data() + i + 1;
    if (written[i] != '%') {
      path += written[i];
      continue;
    }
    if (i + 2 >= written.size() || std::from_chars(digits, digits + 2, byte, 16).ptr != digits + 2)
      fail("'{}': expected two digits after every %", written);
    path += static_cast<char>(byte), i += 2;
  }
  return path;
}

void change_paths(TaskPlan& plan, std::string (*change)(const std::string&)) {
  plan.out = change(plan.out), plan.folder = change(plan.folder);
  for (PlannedFile& f : plan.files) f.path = change(f.path), f.named = change(f.named);
  for (PlannedTask& t : plan.tasks)
    for (std::vector<std::string>* words : {&t.command, &t.inputs, &t.outputs})
      for (std::string& word : *words) word = change(word);
}

const char* kind_of(const TaskPlan& plan) {
  return plan.rows ? kRowsKind : plan.mix ? kMixKind : plan.tokens ? kTokensKind : plan.score ? kScoresKind : kKind;
}

}  // namespace

std::vector<uint64_t> divide_files(const Inputs& in, uint64_t block_bytes, uint64_t tasks) {
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

std::vector<PlannedFile> planned_files(const Inputs& in) {
  std::vector<PlannedFile> files;
  for (const InputFile& f : in.files)
    files.push_back({fs::absolute(f.path).string(), form_name(f.form), f.source, f.bytes, modified(f.path), f.named});
  return files;
}

std::vector<PlannedStage> mix_stages(uint64_t shards, uint64_t tasks) {
  return {
      {"count", shards, {}}, {"pick", shards, {"count"}}, {"shuffle", tasks, {"pick"}}, {"mixed", 1, {"shuffle"}}};
}

std::vector<PlannedStage> token_stages(uint64_t shards, uint64_t tasks) {
  return {{"tokenize", shards, {}}, {"concat", tasks, {"tokenize"}}};
}

TaskPlan TaskPlan::load(const fs::path& file) {
  TaskPlan plan;
  const Json j = Json::read(file);
  const Json* kind = j.find("kind");
  const std::string named = kind && kind->is_string() ? kind->as_string() : "";
  constexpr const char* kKinds[] = {kKind, kRowsKind, kMixKind, kTokensKind, kScoresKind};
  if (std::ranges::find(kKinds, named) == std::end(kKinds))
    fail("{}: expected a plan that quern corpus plan wrote ('{}')", file.string(), kKind);
  read_field(j, plan, file.string(), FieldPresence::optional);
  if (named != kind_of(plan)) fail("{}: make the plan again", file.string());
  change_paths(plan, path_of_json);
  if (plan.shards.empty() || plan.files.empty() || plan.stages.empty() || plan.recipe.source.empty())
    fail("{}: a plan without files or stages: make it again with quern corpus plan", file.string());
  return plan;
}

void TaskPlan::save(const fs::path& file) const {
  TaskPlan copy = *this;
  change_paths(copy, json_path);
  write_file(file, write_value(copy).dump(1) + "\n");
}

DedupConfig TaskPlan::config() const {
  DedupConfig c = recipe.config();
  c.block_bytes = block_bytes;
  return c;
}

Inputs TaskPlan::inputs() const {
  Inputs in;
  in.sources = sources, in.source_ends = source_ends;
  for (const PlannedFile& f : files)
    in.files.push_back({.path = f.path,
                        .source = static_cast<uint32_t>(f.source),
                        .form = form_named(f.form),
                        .bytes = f.bytes,
                        .named = f.named});
  return in;
}

fs::path TaskPlan::manifest() const {
  return shares_folder() ? fs::path(out + ".json") : fs::path(out) / "manifest.json";
}

fs::path TaskPlan::base() const { return manifest().parent_path(); }

fs::path TaskPlan::unfinished() const { return unfinished_of(manifest()); }

// A build's later stages have no state that says whose results lie there.
fs::path TaskPlan::work() const { return build ? unfinished() / "tasks" / identity : unfinished() / "tasks"; }

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

RunNames TaskPlan::names() const {
  if (is_build()) return dedup_run_names();
  if (score)
    return {
        .folder = unfinished().filename(), .whole_files = {fs::path(out).filename().string()}, .whole_folder = false};
  if (!tokens) return RunNames();
  TokenRun run;
  run.prefix = out, run.rows = recipe.tokenize->rows;
  return {.folder = unfinished().filename(), .whole_files = run.files(), .whole_folder = false};
}

TaskPlan plan_tasks(const CorpusRecipe& recipe, const PlanSettings& s) {
  check_number_of_tasks(s);
  const CorpusPlan build = plan_corpus(with_absolute_paths(recipe), {.out = absolute(s.out), .setting = s.setting});
  TaskPlan plan = begin_plan(kKind, build.recipe, build.inputs, s);
  plan.stages = stages_of(plan.recipe, build.dedup.near, plan.shards.size(), s.tasks);
  plan.models = plan.config().models_text();
  plan.identity = run_identity(build.inputs, fmt::format("{} {} {} {} {}", kKind, s.tasks, s.block_bytes,
                                                         plan.config().json().dump(), plan.models));
  plan.tasks = tasks_of(plan, s.file);
  FilterTable(build.inputs, build.dedup);  // what is wrong with a filter is told now
  if (s.overwrite) replace_finished(plan.manifest(), build.inputs);
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

namespace {

// Their identity is what the job of the plan says.
TaskPlan end_plan(TaskPlan plan, const Inputs& in, const std::string& what, const PlanSettings& s) {
  plan.identity = run_identity(in, fmt::format("{} {} {} {}", plan.kind, s.tasks, s.block_bytes, what));
  plan.tasks = tasks_of(plan, s.file);
  prepare_folder(plan);
  return plan;
}

}  // namespace

TaskPlan plan_mix(const CorpusRecipe& recipe, const MixStage& stage, const Inputs& in, const PlanSettings& s) {
  check_number_of_tasks(s);
  TaskPlan plan = begin_plan(kMixKind, recipe, in, s);
  plan.mix = stage;
  plan.stages = mix_stages(plan.shards.size(), s.tasks);
  plan.stages.back().name = "finish";
  const MixJob job = mix_job(plan);
  return end_plan(std::move(plan), in, mix_text(job.inputs, job.scan, job.config), s);
}

TaskPlan plan_tokens(const CorpusRecipe& recipe, const TokenStage& stage, const Inputs& in, const PlanSettings& s) {
  check_number_of_tasks(s);
  TaskPlan plan = begin_plan(kTokensKind, recipe, in, s);
  plan.tokens = stage;
  plan.recipe.tokenize->tokenizer = absolute(plan.recipe.tokenize->tokenizer);
  plan.stages = token_stages(plan.shards.size(), s.tasks);
  plan.stages.push_back({"finish", 1, {"concat"}});
  const TokenRun run = token_job(plan).run;
  plan.models = run.tokenizer;
  return end_plan(std::move(plan), in, run.what(), s);
}

TaskPlan plan_scores(const CorpusRecipe& recipe, const ScoreStage& stage, const Inputs& in, const PlanSettings& s) {
  check_number_of_tasks(s);
  TaskPlan plan = begin_plan(kScoresKind, recipe, in, s);
  plan.score = stage;
  plan.stages = {{"score", plan.shards.size(), {}}, {"concat", s.tasks, {"score"}}, {"finish", 1, {"concat"}}};
  plan.models = score_model_hash(stage.settings.model);
  ScoreStage written = stage;
  return end_plan(std::move(plan), in,
                  fmt::format("{} {} {}", write_value(written).dump(), plan.models, row_scan(recipe).text()), s);
}

}  // namespace quern::corpus
