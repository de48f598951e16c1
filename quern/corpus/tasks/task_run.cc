#include "quern/corpus/tasks/task_run.h"

#include <signal.h>
#include <unistd.h>

#include <charconv>

#include "quern/base/error.h"
#include "quern/base/mmap.h"
#include "quern/base/stopwatch.h"
#include "quern/corpus/io/run_manifest.h"
#include "quern/corpus/tasks/later_plan.h"

namespace quern::corpus {
namespace {

namespace fs = std::filesystem;

constexpr struct {
  const char* stage;
  void (*run)(TaskWork&);
} kTasks[] = {{"sketch", sketch_task},   {"exact", exact_task},      {"merge", merge_task},
              {"join", join_task},       {"cluster", cluster_task},  {"settle", settle_task},
              {"write", write_task},     {"parts", parts_task},      {"finish", finish_task},
              {"later", later_task},     {"count", count_task},      {"pick", pick_task},
              {"shuffle", shuffle_task}, {"mixed", finish_mix_task}, {"tokenize", tokenize_task},
              {"concat", concat_task},   {"score", score_task}};

void run_work(TaskWork& w, const std::string& stage) {
  if (w.plan.rows && stage != "parts") return stage == "finish" ? finish_rows_task(w) : rows_task(w);
  if (w.plan.mix && stage == "finish") return finish_mix_task(w);
  if (w.plan.tokens && stage == "finish") return finish_tokens_task(w);
  if (w.plan.score && stage == "concat") return concat_scores_task(w);
  if (w.plan.score && stage == "finish") return finish_scores_task(w);
  for (const auto& t : kTasks)
    if (stage == t.stage) return t.run(w);
  fail("'{}' is no stage of a plan: make the plan again", stage);
}

std::string host() {
  char name[256] = "host";
  ::gethostname(name, sizeof name - 1);
  return name;
}

void check_ownership(const TaskPlan& plan) {
  const fs::path state = plan.unfinished() / "state.json";
  const Json j = fs::exists(state) ? Json::read(state) : Json::object();
  const Json* whose = j.find("identity");
  if (!whose || !whose->is_string() || whose->as_string() != plan.identity)
    fail("{} is not prepared for this plan, or another run took it: plan again", plan.out);
}

// Folders of processes of this machine that are gone.
void clear_killed(const fs::path& work, const std::string& begin) {
  std::vector<fs::path> left;
  for (const auto& e : fs::directory_iterator(work)) {
    const std::string name = e.path().filename().string();
    pid_t pid = 0;
    if (!name.starts_with(begin)) continue;
    std::from_chars(name.data() + begin.size(), name.data() + name.size(), pid);
    if (pid > 0 && pid != ::getpid() && ::kill(pid, 0) != 0 && errno == ESRCH) left.push_back(e.path());
  }
  for (const fs::path& folder : left) fs::remove_all(folder);
}

// Behind the manifest of a build that has later stages, the run that it takes the place of stays aside.
void finish_folder(const TaskPlan& plan) {
  remove_interrupted(plan.base(), plan.names().whole_files);
  fs::remove(plan.unfinished() / "state.json");
  fs::remove_all(plan.work());
  if (!plan.has_stage("later")) remove_work(plan.unfinished());
}

// Whether a task writes to the output itself, and leaves no result for others.
bool ends(const std::string& stage) { return stage == "finish" || stage == "later" || stage == "mixed"; }

TaskCounters run_ready(const TaskPlan& plan, const PlannedTask& task, PlanReport* report) {
  const std::string& id = task.id;
  const Stopwatch watch;
  const uint64_t read_before = spilled_bytes_read();
  uint64_t index = 0;
  std::from_chars(id.data() + id.rfind('-') + 1, id.data() + id.size(), index);
  const std::string begin = fmt::format("{}.{}.", id, host());
  TaskWork w{.plan = plan,
             .index = index,
             .folder = plan.work() / fmt::format("{}{}", begin, ::getpid()),
             .config = plan.config()};
  if (!ends(task.stage)) {
    fs::create_directories(plan.work());
    clear_killed(plan.work(), begin);
    fs::remove_all(w.folder);
    fs::create_directories(w.folder);
  }
  run_work(w, task.stage);
  if (report) report->build = std::move(w.report), report->rows = std::move(w.rows);
  if (report)
    report->mix = std::move(w.mix), report->tokens = std::move(w.tokens), report->score = std::move(w.score);
  w.counters.read_bytes += spilled_bytes_read() - read_before;
  w.counters.peak_rss = peak_rss(), w.counters.seconds = watch.seconds();
  if (ends(task.stage)) {
    if (task.stage != "later") finish_folder(plan);
    return w.counters;
  }
  write_file(w.folder / "counters.json", write_value(w.counters).dump());
  try {
    commit_folder(w.folder, plan.work() / id);
  } catch (const fs::filesystem_error&) {  // another process was first
    if (!PlanProgress(plan).done(task) && !(plan.build && fs::exists(plan.manifest()))) throw;
    fs::remove_all(w.folder);
  }
  return w.counters;
}

}  // namespace

bool task_done(const TaskPlan& plan, const PlannedTask& task) { return PlanProgress(plan).done(task); }

std::optional<TaskCounters> run_task(const TaskPlan& plan, const std::string& id, PlanReport* report) {
  const PlannedTask& task = plan.task(id);
  PlanProgress progress(plan);
  if (progress.done(task)) {
    if (task.stage == "finish") finish_folder(plan);  // one that was killed in its last moment left it
    return {};
  }
  const LaterPart part = later_part(plan, task.stage);
  if (task.stage != "later" && part == LaterPart::none) check_ownership(plan);
  for (const PlannedTask& t : plan.tasks)
    for (const std::string& stage : task.after)
      if (t.stage == stage && !progress.done(t)) fail("{} waits for {}: run it first", id, t.id);
  if (part == LaterPart::none) return run_ready(plan, task, report);
  const TaskPlan& later = progress.later(part);
  return run_ready(later, later.task(id), report);
}

}  // namespace quern::corpus
