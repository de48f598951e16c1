// Shapes that a machine can train within a goal, best predicted loss first, and what would make the best one better.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "quern/plan/cost.h"

namespace quern::plan {

struct Goal {
  double days = 0, tokens = 0;  // one of them, or both: then a shape must take no longer
  int64_t context = 512, vocab = 32000;
  int64_t batch_tokens = 0;  // of a step; 0: by the size of the model
  std::vector<Family> families;
};

// Cross-entropy in nats a token: E + A/N^α + B/D^β, constants of the published refit of the Chinchilla data (E 1.8172,
// A 482.01, B 2085.43, α 0.3478, β 0.3658). A mixture of experts counts as the geometric mean of its active and all
// parameters. It ranks shapes; another corpus has another loss.
double predicted_loss(const ModelShape& s, double tokens);

struct Planned {
  ModelShape shape;
  Batch batch;
  Memory memory;
  StepTime step;
  double tokens = 0, days = 0, loss = 0;
  int64_t steps = 0, accumulation = 1;
};
// At most `most` of each family, the best first over all.
std::vector<Planned> search(const Machine& m, const Goal& goal, size_t most);
// The same arithmetic for one shape; none where it does not fit in memory or in the days.
std::optional<Planned> plan_shape(const ModelShape& s, const Machine& m, const Goal& goal);

struct Remedy {
  std::string change;
  double loss = 0;  // predicted with it
};
// Twice of one thing at a time, the most helpful first.
std::vector<Remedy> remedies(const Machine& m, const Goal& goal, double loss);

}  // namespace quern::plan
