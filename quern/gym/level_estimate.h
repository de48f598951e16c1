// How hard problems of an environment are for a learner, by an item-response model: it solves difficulty d with
// probability p(d) = 1 / (1 + e^((d − level) / slope)). The posterior of level and slope after groups of attempts is
// held as weighted particles: where their weights have become uneven, new ones are drawn around the old ones by their
// weights, and weighted by prior · likelihood / density of the draw. Difficulty to ask next: that at which one particle,
// drawn by weight, expects about half of a group to succeed, where a group tells most. Levels may lie anywhere from 0
// to hundreds.
#pragma once
#include <cstdint>
#include <vector>

#include "quern/base/json.h"
#include "quern/base/rng.h"

namespace quern::gym {

struct ResponseCurve {
  double level = 0, slope = 1;  // half of the problems of difficulty `level` are solved
  double success(double difficulty) const;
};

class LevelEstimate {
 public:
  explicit LevelEstimate(uint64_t seed = 0);

  int64_t ask(Rng& r) const;                                              // the difficulty of the next group
  void observe(int64_t difficulty, int64_t successes, int64_t attempts);  // throws Error for impossible counts
  ResponseCurve curve() const;  // mean level, median-like slope: the mean of its logarithm
  double level_deviation() const;
  int64_t groups() const { return static_cast<int64_t>(history_.size()); }

  Json state() const;                            // for checkpoints
  static LevelEstimate of_state(const Json& j);  // throws Error naming what is wrong

 private:
  struct Particle {
    double level, log_slope, log_likelihood = 0, log_weight = 0;  // weight: without the likelihood
  };
  struct Group {
    int64_t difficulty, successes, attempts;
  };
  std::vector<double> weights() const;  // sum 1
  void redraw(const std::vector<double>& w);

  uint64_t seed_;
  Rng rng_;
  std::vector<Particle> particles_;
  std::vector<Group> history_;
};

}  // namespace quern::gym
