// What an evaluation on environments came to, as JSON and as one HTML page: a table, and a chart of success over
// difficulty for each environment, with intervals and the fitted curve.
#pragma once
#include <map>
#include <optional>
#include <string>

#include "quern/base/json.h"
#include "quern/reason/eval_statistics.h"
#include "quern/reason/gym_eval.h"

namespace quern::reason {

struct GymRun {
  std::string model, plan, split;
  int64_t seed = 0, samples = 1;
  bool calibrated = false;
  EvaluationCost cost;
  std::map<std::string, EnvironmentScore> scores;  // by environment
  std::optional<PairedCounts> pairs;               // with an earlier evaluation
};

Json gym_eval_json(const GymRun& r);
std::string gym_eval_page(const GymRun& r);

}  // namespace quern::reason
