#include "quern/corpus/tasks/task_run.h"

#include <signal.h>
#include <unistd.h>

#include <charconv>

#include "quern/base/error.h"
#include "quern/base/mmap.h"
#include "quern/base/stopwatch.h"
#include "quern/corpus/io/run_manifest.h"

namespace quern::corpus {
namespace {

namespace fs = std::filesystem;

constexpr struct {
  const char* stage;
  void (*run)(TaskWork&);
} kTasks[] = {{"sketch", sketch_task},   {"exact", exact_task},   {"merge", merge_task}, {"join", join_task},
              {"cluster", cluster_task}, {"settle", settle_task}, {"write", write_task}, {"parts", parts_task},
              {"finish", finish_task},   {"later", later_task}};

void run_work(TaskWork& w, const std::string& stage) {
  if (w.plan.rows && stage != "parts") return stage == "finish" ? finish_rows_task(w) : rows_task(w);
  for (const auto& t : kTasks)
    if (stage == t.stage) return t.run(w);
  fail("'{}' is no stage of a plan: make the plan again", stage);
}

std::string host() {
  char name[256] = "host";
  ::gethostname(name, sizeof name - 1);
  return name;
}

// Whether OUT holds what this plan has finished.
bool is_finished_by(const TaskPlan& plan) {
  const fs::path manifest = fs::path(plan.out) / "manifest.json";
  if (!fs::exists(manifest)) return false;
  const Json j = Json::read(manifest);
  const Json* whose = j.find("plan");
  return whose && whose->at("identity").as_string("identity") == plan.identity;
}

void check_ownership(const TaskPlan& plan) {
  const fs::path state = fs::path(plan.out) / RunFolder::kName / "state.json";
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

void finish_folder(const TaskPlan& plan) {
  remove_interrupted(plan.out, plan.names().whole_files);
  const fs::path unfinished = fs::path(plan.out) / RunFolder::kName;
  fs::remove(unfinished / "state.json");
  fs::remove_all(plan.work());
  if (!plan.has_stage("later")) remove_work(unfinished);
}

}  // namespace

bool task_done(const TaskPlan& plan, const PlannedTask& task) {
  if (is_finished_by(plan)) return task.stage != "later" || !fs::exists(fs::path(plan.out) / kLaterStages);
  return fs::is_directory(plan.work() / task.id);
}

std::optional<TaskCounters> run_task(const TaskPlan& plan, const std::string& id, PlanReport* report) {
  const PlannedTask& task = plan.task(id);
  if (task_done(plan, task)) {
    if (task.stage == "finish") finish_folder(plan);  // one that was killed in its last moment left it
    return {};
  }
  if (task.stage != "later") check_ownership(plan);
  for (const PlannedTask& t : plan.tasks)
    for (const std::string& stage : task.after)
      if (t.stage == stage && !task_done(plan, t)) fail("{} waits for {}: run it first", id, t.id);
  const Stopwatch watch;
  const uint64_t read_before = spilled_bytes_read();
  uint64_t index = 0;
  std::from_chars(id.data() + id.rfind('-') + 1, id.data() + id.size(), index);
  const std::string begin = fmt::format("{}.{}.", id, host());
  TaskWork w{.plan = plan,
             .index = index,
             .folder = plan.work() / fmt::format("{}{}", begin, ::getpid()),
             .config = plan.config()};
  const bool commits = task.stage != "finish" && task.stage != "later";
  if (commits) {
    fs::create_directories(plan.work());
    clear_killed(plan.work(), begin);
    fs::remove_all(w.folder);
    fs::create_directories(w.folder);
  }
  run_work(w, task.stage);
  if (report) report->build = std::move(w.report), report->rows = std::move(w.rows);
  w.counters.read_bytes += spilled_bytes_read() - read_before;
  w.counters.peak_rss = peak_rss(), w.counters.seconds = watch.seconds();
  if (!commits) {
    if (task.stage == "finish") finish_folder(plan);
    return w.counters;
  }
  write_file(w.folder / "counters.json", write_value(w.counters).dump());
  try {
    commit_folder(w.folder, plan.work() / id);
  } catch (const fs::filesystem_error&) {  // another process was first
    if (!task_done(plan, task)) throw;
    fs::remove_all(w.folder);
  }
  return w.counters;
}

}  // namespace quern::corpus
