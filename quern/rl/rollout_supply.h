// The problems of a reinforcement-learning phase and the groups of answers to them, in the order in which groups end.
// Each row asks for a problem at the difficulty that its environment has reached; where all answers earn the same, it asks
// again, up to `resample` times, and keeps the best of its groups (dynamic sampling). A share of the rows goes on: the same
// problem is asked once more with an aggregation prompt around answers of the row's group. Such a second group is one more
// that is ready, if its answers do not all earn the same; difficulties do not hear of it.
//
// Groups that are asked for together start in the order of how long answers of their environments have been, the longest
// first: begun last, they would end in a batch that is nearly empty.
//
// Deterministic: what comes out is a function of the weights, the calls and the state that checkpoints keep. fill() may
// run on a thread of its own, while nothing else of the supply, its engine and its difficulties is touched.
#pragma once
#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "quern/gym/difficulty.h"
#include "quern/gym/splits.h"
#include "quern/rl/environments.h"
#include "quern/rl/rollout_sampler.h"
#include "quern/train/recipe/rl_config.h"

namespace quern::rl {

// What came of a group, for difficulties and bonuses.
struct GroupOutcome {
  int64_t row = 0, attempt = 0;
  std::string environment;
  int64_t difficulty = 0;
  double mean_reward = 0, share_solved = 0;
};
Json to_json(const std::vector<GroupOutcome>& outcomes);
std::vector<GroupOutcome> group_outcomes(const Json& j);

// The rows of one of `ranks` ranks: rank, rank + ranks, …
struct SupplyOptions {
  std::string name;  // of the phase, for messages
  uint64_t seed = 0;
  int64_t rank = 0, ranks = 1, resample = 0;
  train::AggregationConfig aggregation;
};

class RolloutSupply {
 public:
  RolloutSupply(RolloutSampler& sampler, const Environments& environments,
                const gym::LearnerDifficulties& difficulties, SupplyOptions options)
      : sampler_(sampler), environments_(environments), difficulties_(difficulties), o_(std::move(options)) {}

  // Samples until `groups` groups are ready. Meanwhile at least `under_way` are in the engine; those that have not ended
  // stay paused until the next call, which reads them with the weights of then.
  void fill(int64_t groups, int64_t under_way, int64_t version);
  void stop() { stop_ = true; }  // fill() returns soon, unfinished; the supply is of no more use
  int64_t ready() const { return static_cast<int64_t>(ready_.size()); }
  void sort_ready();                               // by rows
  std::vector<RolloutGroup> take(int64_t groups);  // the first that were ready, in the order of their rows
  std::vector<GroupOutcome> take_outcomes();       // since the last call
  // Forgets groups under way with tokens older than this version; their number.
  int64_t drop_older(int64_t version);
  void skip_to(int64_t row);  // forgets all groups; no row before this one is drawn again

  Json state() const;
  void restore(const std::vector<Json>& states);  // of all ranks that there were, dealt to those that there are

 private:
  struct Row {
    int64_t attempt = 0;
    gym::LearnerDifficulties::Draw draw = {};
    RolloutGroup best = {};  // of earlier attempts
  };
  struct Ready {
    int64_t row = 0;
    RolloutGroup group;
  };
  struct Asked {
    gym::SeededProblem of;
    std::vector<int32_t> prompt;
  };
  std::optional<Asked> find_problem(const gym::EnvironmentAt& at, uint64_t number) const;
  struct Lengths {
    int64_t answers = 0, tokens = 0;
    double mean() const { return answers > 0 ? static_cast<double>(tokens) / static_cast<double>(answers) : 0; }
  };
  void ask(int64_t row, int64_t attempt, int64_t version);
  void start_asked(int64_t version);
  void settle(int64_t row, RolloutGroup group, int64_t version);
  bool ask_to_aggregate(int64_t row, const RolloutGroup& group, int64_t version);

  RolloutSampler& sampler_;
  const Environments& environments_;
  const gym::LearnerDifficulties& difficulties_;
  SupplyOptions o_;
  int64_t next_ = 0;                        // the next row is rank + next_ · ranks
  std::map<int64_t, Row> open_;             // rows that have asked
  std::vector<RolloutRequest> asked_ = {};  // that have not started
  std::map<std::string, Lengths> lengths_;  // of answers so far, by environment
  std::vector<Ready> ready_;
  std::vector<GroupOutcome> outcomes_;
  std::atomic<bool> stop_ = false;
};

}  // namespace quern::rl
