#include "quern/corpus/tasks/later_plan.h"

#include <charconv>

#include "quern/base/error.h"
#include "quern/corpus/io/run_manifest.h"
#include "quern/corpus/stages/row_stage.h"

namespace quern::corpus {
namespace {

namespace fs = std::filesystem;

BuildState state_of(const TaskPlan& build) {
  const auto planned = plan_build(build.recipe, build.config(), build.inputs());
  auto saved = planned ? saved_build(build.out, planned->identity) : planned;
  if (!saved) fail("{} does not hold this plan's build, or an input changed: plan again", build.out);
  return std::move(*saved);
}

struct BuildJobs {
  BuildState state;
  Inputs raw;
  explicit BuildJobs(const TaskPlan& build) : state(state_of(build)), raw(build.inputs()) {}
  BuildFolder folder(const TaskPlan& build) const {
    return {.recipe = build.recipe, .state = state, .raw = raw, .out = build.out};
  }
};

uint64_t index_of(const PlannedTask& t) {
  uint64_t index = 0;
  std::from_chars(t.id.data() + t.id.rfind('-') + 1, t.id.data() + t.id.size(), index);
  return index;
}

}  // namespace

MixJob mix_job(const TaskPlan& plan) {
  MixJob job;
  if (plan.build) {
    job = mix_job(BuildJobs(*plan.build).folder(*plan.build));
  } else {
    job = {plan.inputs(), row_scan(plan.recipe), plan.recipe.mix->config()};
    job.config.shares = plan.mix->shares;
    job.config.to =
        WriteSettings{.level = plan.recipe.write.level, .shard_mb = plan.recipe.mix->shard_mb}.output(plan.out);
    job.scan.fields[0].source = plan.mix->source_field;
    job.config.source_field = added_source_field(job.inputs, job.scan);
  }
  job.scan.block_bytes = plan.block_bytes;
  return job;
}

TokenJob token_job(const TaskPlan& plan) {
  TokenJob job;
  if (plan.build) {
    job = token_job(BuildJobs(*plan.build).folder(*plan.build));
  } else {
    const TokenizeSettings& t = *plan.recipe.tokenize;
    job = {.inputs = plan.inputs(),
           .run = {.scan = row_scan(plan.recipe),
                   .end_token = t.end_token,
                   .tokenizer = tokenizer_hash(t.tokenizer),
                   .prefix = plan.out,
                   .rows = t.rows},
           .tokenizer = t.tokenizer};
  }
  job.run.scan.block_bytes = plan.block_bytes;
  return job;
}

LaterPart later_part(const TaskPlan& build, const std::string& stage) {
  if (!build.is_build()) return LaterPart::none;
  for (const PlannedStage& s : mix_stages(1, 1))
    if (s.name == stage) return LaterPart::mixture;
  for (const PlannedStage& s : token_stages(1, 1))
    if (s.name == stage) return LaterPart::tokens;
  return LaterPart::none;
}

namespace {

// Rows are numbered over all parts, where these are of several sources.
std::vector<uint64_t> first_rows(const TaskPlan& build, const Inputs& in) {
  if (in.source_ends.empty()) return {};
  const BuildState state = state_of(build);
  if (state.rows.size() != in.files.size())
    fail("{}: {} parts, and rows are known of {}: plan again", build.out, in.files.size(), state.rows.size());
  std::vector<uint64_t> first = {0};
  for (uint64_t rows : state.rows) first.push_back(first.back() + rows);
  return first;
}

uint64_t tasks_asked(const TaskPlan& build) { return build.stage("exact").tasks; }

TaskPlan later_plan(const TaskPlan& build, const Inputs& in) {
  TaskPlan plan;
  plan.build = &build;
  plan.tool = build.tool, plan.recipe = build.recipe, plan.block_bytes = build.block_bytes;
  plan.sources = in.sources, plan.source_ends = in.source_ends, plan.files = planned_files(in);
  plan.first_rows = first_rows(build, in);
  plan.shards = divide_files(in, plan.block_bytes, tasks_asked(build));
  return plan;
}

// Tasks of it need no command: those of the build's plan stand for them.
void add_tasks(TaskPlan& plan) {
  for (const PlannedStage& s : plan.stages)
    for (uint64_t i = 0; i < s.tasks; ++i) {
      PlannedTask t;
      t.id = fmt::format("{}-{}", s.name, i), t.stage = s.name, t.after = s.after;
      plan.tasks.push_back(std::move(t));
    }
}

std::string identity_of(const TaskPlan& build, const Inputs& in, const std::string& what) {
  return run_identity(in, fmt::format("{} {} {} {}", build.identity, tasks_asked(build), build.block_bytes, what));
}

TaskPlan mixture_plan(const TaskPlan& build) {
  const MixJob job = mix_job(BuildJobs(build).folder(build));
  TaskPlan plan = later_plan(build, job.inputs);
  plan.mix.emplace();
  plan.out = job.config.to.folder.string();
  plan.stages = mix_stages(plan.shards.size(), tasks_asked(build));
  plan.identity = identity_of(build, job.inputs, mix_text(job.inputs, job.scan, job.config));
  add_tasks(plan);
  return plan;
}

TaskPlan token_plan(const TaskPlan& build) {
  const TokenJob job = token_job(BuildJobs(build).folder(build));
  TaskPlan plan = later_plan(build, job.inputs);
  plan.tokens.emplace();
  plan.out = job.run.prefix.string();
  plan.stages = token_stages(plan.shards.size(), tasks_asked(build));
  plan.models = job.run.tokenizer;
  plan.identity = identity_of(build, job.inputs, job.run.what());
  add_tasks(plan);
  return plan;
}

}  // namespace

const TaskPlan& PlanProgress::later(LaterPart part) {
  std::optional<TaskPlan>& plan = part == LaterPart::mixture ? mixture_ : tokens_;
  if (!plan) plan = part == LaterPart::mixture ? mixture_plan(plan_) : token_plan(plan_);
  return *plan;
}

// Whether OUT holds what this plan has finished.
bool PlanProgress::done() {
  const fs::path manifest = plan_.manifest();
  if (done_ || !fs::exists(manifest)) return done_;
  const Json j = Json::read(manifest);
  const Json* whose = j.find("plan");
  return done_ = whose && whose->at("identity").as_string("identity") == plan_.identity;
}

bool PlanProgress::done(const PlannedTask& task) {
  const LaterPart part = later_part(plan_, task.stage);
  const bool last = plan_.is_build() && task.stage == "later";
  if (!done()) return part == LaterPart::none && !last && fs::is_directory(plan_.work() / task.id);
  if (part == LaterPart::none && !last) return true;
  if (!fs::exists(fs::path(plan_.out) / kLaterStages)) return true;
  return !last && later_done(task);
}

// There may be fewer shards than tasks.
bool PlanProgress::later_done(const PlannedTask& task) {
  const fs::path out = plan_.out;
  const LaterPart part = later_part(plan_, task.stage);
  const bool mixed = !plan_.recipe.mix || fs::exists(out / "mixed/manifest.json");
  if (part == LaterPart::mixture ? mixed : fs::exists(out / "tokens.json")) return true;
  if (part == LaterPart::tokens && !mixed) return false;
  const TaskPlan& plan = later(part);
  return index_of(task) >= plan.stage(task.stage).tasks || fs::is_directory(plan.work() / task.id);
}

}  // namespace quern::corpus
