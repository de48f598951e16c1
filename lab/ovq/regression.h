// In-context linear regression: F functions y = w_f·x + noise, each known by a tag, are shown 16 times each in random
// order, (tag, x) and then y; at every (tag, x) the model predicts y. Each function must be learned from its own
// examples only, so that a memory must keep them apart. The baseline is the best predictor, ridge regression on the
// same examples.
#pragma once
#include <functional>
#include <vector>

#include "lab/ovq/memory_model.h"

namespace quern::lab {

constexpr int64_t kRegressionWidth = 8, kRegressionTags = 128, kRegressionExamples = 16;
constexpr double kRegressionNoise = 0.1;  // beside a variance of 1

struct Regressions {  // of `rows` sequences, one behind the other, each of `length` tokens
  int64_t rows = 0, length = 0;
  Tensor features;             // [rows · length, kRegressionFeatures]: x ‖ y ‖ 1 where y is said ‖ tag
  std::vector<float> targets;  // y at every (tag, x), 0 elsewhere
  std::vector<int32_t> seen;   // examples of the function before this one; −1 where nothing is asked
  std::vector<float> ridge;    // what ridge regression says there
};
constexpr int64_t kRegressionFeatures = kRegressionWidth + 2 + kRegressionTags;
Regressions make_regressions(int64_t functions, int64_t rows, uint64_t seed, uint64_t first);

struct RegressionOptions {
  MemoryOfStudy memory{};
  int64_t blocks = 1;                                                // of two layers each
  std::vector<int64_t> train = {1, 2, 4, 8}, test = {1, 4, 16, 64};  // functions
  std::vector<int64_t> test_rows = {};                               // besides the memory's own
  Lessons lessons{.steps = 3000};
  int64_t easy_steps = 300, test_sequences = 32;
  uint64_t seed = 0;
};

struct RegressionOutcome {
  struct Row {
    int64_t rows = 0;                        // of the dictionary asked
    std::vector<std::vector<double>> error;  // mean square, for every number of `test` and of examples seen
  };
  std::vector<Row> asked;
  std::vector<std::vector<double>> ridge;  // as Row::error
  double loss = 0, seconds = 0;
};
RegressionOutcome study_regression(const nn::Registry& registry, const RegressionOptions& o,
                                   const std::function<void(int64_t step, double loss)>& progress);

}  // namespace quern::lab
