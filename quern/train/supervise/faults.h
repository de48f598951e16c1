// Fault detection for training runs, from the ranks' heartbeats and the exit status of the process. Pure functions of
// observations and their times, so that every rule can be tested without waiting for it.
//
//   killed       a rank is gone without a message (kill −9, a crash, a lost machine)
//   hung         a process without heartbeat; or the rank furthest behind is in one section beyond its time limit
//   slow         a rank whose own work takes 1/slow_share of the others' median, slow_steps steps in a row
//   damaged      a committed checkpoint that fails its checksums (found by verifying it)
//   disk_full    a write that failed for lack of space
//   bad_numbers  losses that are NaN or stay high after the trainer has used up its rollbacks
//   failed       any other error that a rank reported before it ended
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "quern/train/recipe/recipe.h"
#include "quern/train/trainer/heartbeat.h"

namespace quern::train {

enum class Fault { killed, hung, slow, damaged, disk_full, bad_numbers, failed };
const char* fault_name(Fault f);

struct Finding {
  Fault fault = Fault::failed;
  std::vector<int> ranks;  // who; empty: the run as a whole
  int64_t step = 0;        // finished when it happened
  std::string text;
};

class RankWatch {
 public:
  explicit RankWatch(const SupervisePolicy& policy) : policy_(policy) {}
  // Every so often, with a clock that never goes back. hung ends an attempt; slow is told once a rank.
  std::optional<Finding> look(const std::vector<RankState>& ranks, double now);
  double quiet_s(double now) const;  // since anything changed in any rank
  // As often as look, with the ranks whose processes are there. A launcher ends the others when it misses one, and may
  // kill them before they can say so: the ranks that went first are the ones that were lost.
  void look_for_processes(const std::vector<int>& there);
  const std::vector<int>& gone_first() const { return gone_first_; }

 private:
  struct Seen {
    int64_t pulse = -1, sequence = -1, step = 0;
    double pulse_at = 0, sequence_at = 0;
    int64_t slow_steps = 0;
    bool told = false;
  };
  std::optional<Finding> hung(const std::vector<RankState>& ranks, double now) const;
  std::optional<Finding> slow(const std::vector<RankState>& ranks);
  double limit(Section s) const;

  SupervisePolicy policy_;
  std::map<int, Seen> seen_;
  double last_look_ = -1;
  int64_t compared_ = 0;  // the step whose times were compared last
  std::vector<int> there_, gone_first_;
};

// How an attempt ended that was not told to: status as waitpid gives it; gone_first as RankWatch knows it.
Finding classify_exit(const std::vector<RankState>& ranks, int status, const std::vector<int>& gone_first = {});

}  // namespace quern::train
