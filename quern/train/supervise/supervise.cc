#include "quern/train/supervise/supervise.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <set>
#include <thread>

#include "quern/base/json.h"
#include "quern/base/stopwatch.h"
#include "quern/train/checkpoint/reader.h"
#include "quern/train/supervise/child_process.h"
#include "quern/train/supervise/faults.h"
#include "quern/train/trainer/trainer.h"

namespace quern::train {
namespace {

namespace fs = std::filesystem;

constexpr auto kLook = std::chrono::milliseconds(50);
constexpr double kPatience = 10;  // between SIGTERM and SIGKILL

std::vector<std::string> split_words(const std::string& text) {
  std::vector<std::string> words;
  for (size_t at = 0; at < text.size();) {
    const size_t begin = text.find_first_not_of(' ', at);
    if (begin == text.npos) break;
    at = std::min(text.find(' ', begin), text.size());
    words.push_back(text.substr(begin, at - begin));
  }
  return words;
}

class Supervisor {
 public:
  Supervisor(const SupervisePolicy& p, const SuperviseOptions& o) : policy_(p), o_(o), ranks_(o.ranks) {
    fs::create_directories(o_.out);
    if (!o_.resume && holds_run(o_.out))
      fail("{} already holds a run: resume it, or name another folder", o_.out.string());
  }

  void run() {
    for (;;) {
      std::optional<Finding> f = attempt();
      if (!f) return;
      settle(*f);
    }
  }

 private:
  void log(const char* event, Json more, const std::string& text) {
    Json j = Json::object();
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    j.set("time", static_cast<double>(std::chrono::duration_cast<std::chrono::milliseconds>(now).count()) * 1e-3);
    j.set("attempt", attempt_), j.set("event", event);
    for (auto& [key, value] : more.members()) j.set(key, std::move(value));
    j.set("text", text);
    append(j.dump() + "\n");
    o_.say(fmt::format("supervise: {}", text));
  }

  // What cannot be written down must not end the run: it is said instead.
  void append(const std::string& line) {
    const fs::path file = o_.out / "supervise.jsonl";
    const int fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (fd < 0 || ::write(fd, line.data(), line.size()) != static_cast<ssize_t>(line.size()))
      o_.say(fmt::format("supervise: cannot write {}: {}", file.string(), std::strerror(errno)));
    if (fd >= 0) ::close(fd);
  }

  static Json at(int64_t step) {
    Json j = Json::object();
    j.set("step", step);
    return j;
  }

  // Checkpoints are read whole before a run is trusted to them; a damaged one is kept for people to look at.
  std::optional<fs::path> newest_whole() {
    for (const StepFolder& f : step_folders(o_.out)) {
      if (!f.committed) continue;
      try {
        CheckpointReader(f.path).verify();
        return f.path;
      } catch (const Error& e) {
        fs::path to = o_.out / ("damaged_" + f.path.filename().string());
        for (int n = 2; fs::exists(to); ++n)
          to = o_.out / fmt::format("damaged_{}_{}", f.path.filename().string(), n);
        fs::rename(f.path, to);
        Json j = at(f.step);
        j.set("fault", fault_name(Fault::damaged));
        log("aside", j, fmt::format("{}; set aside as {}", e.what(), to.filename().string()));
      }
    }
    return std::nullopt;
  }

  std::vector<std::string> command() const {
    std::vector<std::string> words = split_words(policy_.launcher);
    const bool launched = !words.empty();
    for (std::string& w : words)
      for (size_t i = w.find("{ranks}"); i != w.npos; i = w.find("{ranks}")) w.replace(i, 7, std::to_string(ranks_));
    words.insert(words.end(), o_.command.begin(), o_.command.end());
    words.insert(words.end(), {"--resume", "--heartbeats", heartbeats().string()});
    if (!launched) words.insert(words.end(), {"--ranks", std::to_string(ranks_)});
    return words;
  }
  fs::path heartbeats() const { return o_.out / "heartbeats"; }

  // Nothing: the run ended as it should.
  std::optional<Finding> attempt() {
    ++attempt_;
    const std::optional<fs::path> from = newest_whole();
    begun_at_ = from ? CheckpointReader(*from).step() : 0;
    fs::remove_all(heartbeats());
    Json j = at(begun_at_);
    j.set("ranks", ranks_);
    log("start", j,
        fmt::format("attempt {}: {} {} from {}", attempt_, ranks_, ranks_ == 1 ? "rank" : "ranks",
                    from ? from->filename().string() : "the beginning"));
    ChildProcess child(command());
    RankWatch watch(policy_);
    recovered_ = attempt_ == 1;
    bool told = false;
    for (;;) {
      const std::optional<int> status = child.ended();
      const std::vector<RankState> ranks = read_heartbeats(heartbeats());
      const double now = steady_seconds();
      std::optional<Finding> f = watch.look(ranks, now);
      watch.look_for_processes(there(ranks));
      see_progress(ranks, now);
      if (o_.interrupted() && !told) told = true, child.signal(SIGINT);
      if (status) {
        if (WIFEXITED(*status) && WEXITSTATUS(*status) == 0) {
          log("finished", at(last_step_), fmt::format("the run ended as it should after step {}", last_step_));
          return std::nullopt;
        }
        failed_at_ = now - watch.quiet_s(now);
        if (told) fail("interrupted; the run can be resumed");
        return classify_exit(ranks, *status, watch.gone_first());
      }
      if (f && f->fault == Fault::slow) {
        Json s = at(f->step);
        s.set("rank", f->ranks[0]);
        log("slow", s, f->text);
      } else if (f) {
        failed_at_ = now - watch.quiet_s(now);
        for (const RankState& r : ranks)
          if (std::find(f->ranks.begin(), f->ranks.end(), r.rank) != f->ranks.end()) kill_own_kind(r.pid);
        child.end(kPatience);
        for (const RankState& r : ranks) kill_own_kind(r.pid);  // a launcher may have left some behind
        return f;
      }
      std::this_thread::sleep_for(kLook);
    }
  }

  static std::vector<int> there(const std::vector<RankState>& ranks) {
    std::vector<int> v;
    for (const RankState& r : ranks)
      if (is_own_kind(r.pid)) v.push_back(r.rank);
    return v;
  }

  void see_progress(const std::vector<RankState>& ranks, double now) {
    if (ranks.empty()) return;
    int64_t step = ranks[0].step;
    for (const RankState& r : ranks) step = std::min(step, r.step);
    last_step_ = step;
    if (recovered_ || step <= begun_at_) return;
    recovered_ = true;
    Json j = at(step);
    j.set("seconds", now - failed_at_), j.set("steps_lost", std::max<int64_t>(0, failed_step_ - begun_at_));
    log("recovered", j,
        fmt::format("step {} is done, {:.1f} s after the fault; {} steps were done again or are to be", step,
                    now - failed_at_, std::max<int64_t>(0, failed_step_ - begun_at_)));
  }

  // Decides what follows a fault; throws when nothing does.
  void settle(const Finding& f) {
    failed_step_ = f.step;
    const bool again = !faults_.emplace(f.fault, f.step).second;
    const std::optional<fs::path> newest = latest_committed(o_.out);
    const std::string commit = newest ? newest->filename().string() : "";
    restarts_ = commit == last_commit_ ? restarts_ + 1 : 1;
    last_commit_ = commit;
    std::string why;
    if (f.fault == Fault::bad_numbers)
      why = "the trainer has gone back as often as it may";
    else if (again)
      why = "the same fault at the same step as before";
    else if (restarts_ > policy_.max_restarts)
      why = fmt::format("{} restarts without a new checkpoint", policy_.max_restarts);
    const bool lost = (f.fault == Fault::killed || f.fault == Fault::hung) && !policy_.launcher.empty();
    const int64_t left = lost ? ranks_ - static_cast<int64_t>(f.ranks.size()) : ranks_;
    const int64_t next = left < 1 ? ranks_ : left;  // all of them gone: the launcher's trouble, not a rank's
    if (why.empty() && next < policy_.min_ranks)
      why = fmt::format("{} ranks are left of at least {}", next, policy_.min_ranks);
    Json j = at(f.step);
    Json who = Json::array();
    for (int r : f.ranks) who.push(r);
    j.set("fault", fault_name(f.fault)), j.set("ranks", who), j.set("seconds", steady_seconds() - failed_at_);
    std::string action = why.empty() ? fmt::format("restart with {} {}", next, next == 1 ? "rank" : "ranks") : "stop";
    if (why.empty() && f.fault == Fault::disk_full) action = fmt::format("{} removed, {}", make_room(), action);
    j.set("action", action);
    log("fault", j, fmt::format("{} at step {}: {}; {}", fault_name(f.fault), f.step, f.text, action));
    if (!why.empty()) {
      log("stopped", at(f.step), why);
      fail("{} at step {}: {} ({}); the run can be resumed", fault_name(f.fault), f.step, f.text, why);
    }
    ranks_ = next;
  }

  // Unfinished folders, and checkpoints before the newest.
  std::string make_room() {
    int64_t gone = 0;
    bool newest = true;
    for (const StepFolder& s : step_folders(o_.out)) {
      if (!s.committed || !newest) remove_step_folder(s.path), ++gone;
      if (s.committed) newest = false;
    }
    return fmt::format("{} older or unfinished checkpoint{}", gone, gone == 1 ? "" : "s");
  }

  const SupervisePolicy policy_;
  const SuperviseOptions o_;
  int64_t ranks_, attempt_ = 0, begun_at_ = 0, last_step_ = 0, failed_step_ = 0, restarts_ = 0;
  double failed_at_ = 0;
  bool recovered_ = true;
  std::string last_commit_;
  std::set<std::pair<Fault, int64_t>> faults_;
};

}  // namespace

void supervise(const SupervisePolicy& policy, const SuperviseOptions& options) { Supervisor(policy, options).run(); }

}  // namespace quern::train
