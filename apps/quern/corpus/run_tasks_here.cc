// Tasks of a plan as child processes, stage after stage.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <list>
#include <map>
#include <thread>
#include <utility>

#include "apps/quern/cli/progress.h"
#include "apps/quern/corpus/task_runners.h"
#include "quern/base/error.h"
#include "quern/base/file_lock.h"
#include "quern/base/threads.h"
#include "quern/corpus/tasks/later_plan.h"
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

// Its task runs in this process: it says what was removed and what could not be read.
bool reports(const PlannedTask& t) { return t.stage == "finish" || t.stage == "later"; }

// The lock of a plan's file. Two runners of one plan would each take for its own what the other is at; tasks that are
// started alone, as job arrays do, know of each other by their results.
class PlanLock {
 public:
  explicit PlanLock(const std::filesystem::path& file) : fd_(::open(file.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (fd_ < 0 || lock_exclusively(fd_) || errno != EWOULDBLOCK) return;
    release();
    fail("{}: another process runs this plan: wait until it is done, or end it", file.string());
  }
  PlanLock(const PlanLock&) = delete;
  PlanLock& operator=(const PlanLock&) = delete;
  ~PlanLock() { release(); }
  void release() {  // in a copy of this process: this one keeps it
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }

 private:
  int fd_;
};

class LocalTasks {
 public:
  LocalTasks(const TaskPlan& plan, const std::filesystem::path& file, int64_t jobs)
      : plan_(plan), file_(std::filesystem::absolute(file)), jobs_(static_cast<size_t>(jobs)), lock_(file_) {
    for (const PlannedStage& s : plan.stages) left_[s.name] = s.tasks;
    PlanProgress progress(plan);
    for (const PlannedTask& t : plan.tasks)
      if (!reports(t) && progress.done(t))  // the others tidy up what they were killed over
        --left_[t.stage], ++done_;
      else
        waiting_.emplace_back(&t, 0);
  }

  // The exit status; 1 when one failed: those that had begun are over.
  int run() {
    while (!waiting_.empty() || !running_.empty()) {
      start_ready();
      if (running_.empty()) break;
      collect();
      progress_("{} of {} tasks done", done_, plan_.tasks.size());
    }
    return failed_ ? 1 : status_;
  }

 private:
  bool ready(const PlannedTask& t) const {
    return std::ranges::all_of(t.after, [&](const std::string& stage) { return left_.at(stage) == 0; });
  }
  void start_ready() {
    for (auto at = waiting_.begin(); at != waiting_.end() && running_.size() < jobs_ && !failed_;) {
      const auto [task, starts] = *at;
      if (!ready(*task)) break;  // stages follow each other
      at = waiting_.erase(at);
      if (reports(*task)) {
        status_ = std::max(status_, run_planned_task(plan_, task->id, ReportForm::text));
        --left_[task->stage], ++done_;
        continue;
      }
      running_.push_back({task, starts + 1, start(task->id)});
    }
  }
  // A copy of this process has the program and the plan already. Where there is another thread, which is none of
  // ours (a profiler's, a sanitizer's), the program is started instead.
  std::unique_ptr<train::ChildProcess> start(const std::string& id) {
    const int threads = std::max(1, thread_count() / static_cast<int>(jobs_));
    if (!train::can_be_copied())
      return std::make_unique<train::ChildProcess>(std::vector<std::string>{
          "/proc/self/exe", "--threads", std::to_string(threads), "corpus", "task", file_.string(), id});
    return std::make_unique<train::ChildProcess>([&] {
      lock_.release();
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
  PlanLock lock_;
  std::map<std::string, uint64_t> left_;  // tasks of a stage that are not done
  std::list<std::pair<const PlannedTask*, int>> waiting_;
  std::list<RunningTask> running_;
  uint64_t done_ = 0;
  int status_ = 0;
  bool failed_ = false;
  Progress progress_;
};

}  // namespace

int run_tasks_here(const TaskPlan& plan, const std::filesystem::path& file, int64_t jobs) {
  return LocalTasks(plan, file, jobs).run();
}

}  // namespace quern::cli
