// Tasks of a plan as child processes, stage after stage.
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <list>
#include <map>
#include <thread>

#include "apps/quern/cli/progress.h"
#include "apps/quern/corpus/task_runners.h"
#include "quern/base/error.h"
#include "quern/base/threads.h"
#include "quern/corpus/tasks/task_run.h"
#include "quern/train/supervise/child_process.h"

namespace quern::cli {
namespace {

using namespace corpus;

constexpr int kMaxStarts = 4;

struct RunningTask {
  const PlannedTask* task;
  int starts;
  std::unique_ptr<train::ChildProcess> process;
};

bool reports(const PlannedTask& t) { return t.stage == "finish" || t.stage == "later"; }

class LocalTasks {
 public:
  LocalTasks(const TaskPlan& plan, const std::filesystem::path& file, int64_t jobs)
      : plan_(plan), file_(std::filesystem::absolute(file)), jobs_(static_cast<size_t>(jobs)) {
    for (const PlannedStage& s : plan.stages) left_[s.name] = s.tasks;
    for (const PlannedTask& t : plan.tasks)
      if (reports(t))
        continue;
      else if (++tasks_; task_done(plan, t))
        --left_[t.stage], ++done_;
      else
        waiting_.emplace_back(&t, 0);
  }

  // False: one failed; those that had begun are over.
  bool run() {
    while (!waiting_.empty() || !running_.empty()) {
      start_ready();
      if (running_.empty()) break;
      collect();
      progress_("{} of {} tasks done", done_, tasks_);
    }
    return !failed_;
  }

 private:
  bool ready(const PlannedTask& t) const {
    return std::ranges::all_of(t.after, [&](const std::string& stage) { return left_.at(stage) == 0; });
  }
  void start_ready() {
    for (auto at = waiting_.begin(); at != waiting_.end() && running_.size() < jobs_ && !failed_;) {
      const auto [task, starts] = *at;
      if (!ready(*task)) break;  // stages follow each other
      running_.push_back({task, starts + 1, start(task->id)});
      at = waiting_.erase(at);
    }
  }
  // A copy of this process has the program and the plan already. Where there is another thread, which is none of
  // ours (a profiler's, a sanitizer's), the program is started instead.
  std::unique_ptr<train::ChildProcess> start(const std::string& id) const {
    const int threads = std::max(1, thread_count() / static_cast<int>(jobs_));
    if (!train::can_be_copied())
      return std::make_unique<train::ChildProcess>(std::vector<std::string>{
          "/proc/self/exe", "--threads", std::to_string(threads), "corpus", "task", file_.string(), id});
    return std::make_unique<train::ChildProcess>([&] {
      set_thread_count(threads);
      return run_planned_task(plan_, id, ReportForm::text);
    });
  }
  void collect() {
    bool ended = false;
    for (auto at = running_.begin(); at != running_.end();) {
      const std::optional<int> status = at->process->ended();
      if (!status) {
        ++at;
        continue;
      }
      ended = true;
      end(*at, *status);
      at = running_.erase(at);
    }
    if (!ended) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  void end(const RunningTask& r, int status) {
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
      --left_[r.task->stage], ++done_;
    } else if (WIFSIGNALED(status) && r.starts < kMaxStarts) {
      fmt::print(stderr, "{} was killed by signal {}: it is started again\n", r.task->id, WTERMSIG(status));
      waiting_.emplace_front(r.task, r.starts);
    } else {
      failed_ = true;
      fmt::print(stderr, "error: {} failed: fix what it says and run the plan again: tasks that are done stay done\n",
                 r.task->id);
    }
  }

  const TaskPlan& plan_;
  std::filesystem::path file_;
  size_t jobs_;
  std::map<std::string, uint64_t> left_;  // tasks of a stage that are not done
  std::list<std::pair<const PlannedTask*, int>> waiting_;
  std::list<RunningTask> running_;
  uint64_t tasks_ = 0, done_ = 0;
  bool failed_ = false;
  Progress progress_;
};

}  // namespace

int run_tasks_here(const TaskPlan& plan, const std::filesystem::path& file, int64_t jobs) {
  if (!LocalTasks(plan, file, jobs).run()) return 1;
  int status = 0;
  for (const PlannedTask& t : plan.tasks)
    if (reports(t)) status = std::max(status, run_planned_task(plan, t.id, ReportForm::text));  // here: they report
  return status;
}

}  // namespace quern::cli
