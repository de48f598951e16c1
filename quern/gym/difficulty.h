// Difficulty that follows a learner. Every environment has an upper difficulty; problems are drawn from a window below
// it. It rises by one when a group of attempts at the upper difficulty succeeds often enough, and falls by one when such a
// group fails altogether. A group at another difficulty never moves it: it was asked before the last move, or from below
// the top of the window. Which environment comes next: the fewer groups it has had, the likelier.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "quern/base/config.h"
#include "quern/base/json.h"
#include "quern/base/rng.h"
#include "quern/gym/environment_registry.h"

namespace quern::gym {

struct DifficultyOptions {
  double rise_above = 0.7;  // mean reward of a group
  int64_t window = 4;       // difficulties problems are drawn from, the upper one included
  int64_t start = 0;        // upper difficulty at first, where no other is given
  int64_t highest = kMaxDifficulty;
  template <class V>
  void visit(V& v) {
    v("rise_above", rise_above, "mean reward of a group of attempts above which the difficulty rises",
      {.range = Bounds::between(0, 1)});
    v("window", window, "difficulties that problems are drawn from, up to the upper one",
      {.range = Bounds::at_least(1)});
    v("start", start, "upper difficulty of an environment at first", {.range = Bounds::at_least(0)});
    v("highest", highest,
      "the upper difficulty does not rise above this; without a limit a learner moves past the difficulties that "
      "it succeeds at, and may forget them",
      {.range = Bounds::between(0, kMaxDifficulty)});
  }
};

class Difficulty {  // of one environment
 public:
  Difficulty(int64_t upper, DifficultyOptions o) : options_(o), upper_(upper) {}
  int64_t upper() const { return upper_; }
  int64_t draw(Rng& r) const;
  void observe(int64_t difficulty, double mean_reward);  // of a whole group
  int64_t groups() const { return groups_; }

 private:
  friend class LearnerDifficulties;
  DifficultyOptions options_;
  int64_t upper_, groups_ = 0;
};

class LearnerDifficulties {  // of all environments that a learner is trained on
 public:
  LearnerDifficulties(std::vector<std::string> environments, DifficultyOptions o);  // throws Error: none, or twice

  struct Draw {
    std::string environment;
    int64_t difficulty = 0;
  };
  Draw draw(Rng& r) const;
  void observe(const std::string& environment, int64_t difficulty, double mean_reward);
  void limit(const std::string& environment, int64_t highest);    // it does not rise above this
  void set_upper(const std::string& environment, int64_t upper);  // as a calibration found it
  const Difficulty& of(const std::string& environment) const;     // throws Error for a name that is none

  Json state() const;               // for checkpoints: name → upper, groups
  void restore(const Json& state);  // of the same environments; others are refused by name

 private:
  std::map<std::string, Difficulty> all_;
};

}  // namespace quern::gym
