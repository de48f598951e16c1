// Studies of the learning rules: the cosine of their gradients with the true one at the start, whether a stack learns
// with them, and the cost of the forward forms.
#pragma once
#include <functional>
#include <vector>

#include "lab/eprop/credit.h"
#include "lab/eprop/task.h"

namespace quern::lab {

// Episodes per gradient, a setting of every study with a default of its own.
template <class V>
void visit_episodes(V& v, int64_t& batch) {
  v("batch", batch, "episodes per gradient");
}

struct CosineOptions {
  StackShape shape;
  EpropTaskOptions task;
  int64_t batch = 128, seeds = 8;
  uint64_t seed = 0;
  template <class V>
  void visit(V& v) {
    visit_episodes(v, batch);
  }
};
// [rule][layer]: cosine to bptt's gradient at a random start, mean over seeds.
std::vector<std::vector<double>> gradient_cosines(const CosineOptions& o);

struct LearnOptions {
  StackShape shape;
  EpropTaskOptions task;
  CreditRule rule = CreditRule::full;
  double rate = 1e-3;
  int64_t batch = 48, steps = 800, window = 20, test_episodes = 2000;
  uint64_t seed = 0;
  template <class V>
  void visit(V& v) {
    visit_episodes(v, batch);
  }
};
struct LearnOutcome {
  int64_t learned_at = -1;  // the step at which the last `window` batches were 90 % right; −1: never
  double accuracy = 0;      // on episodes it has not seen
};
LearnOutcome learn_task(const LearnOptions& o);
// Every rule and seed, over the threads there are: [rule][seed]. Seeds share their start and episodes among rules.
std::vector<std::vector<LearnOutcome>> learn_task_by(const LearnOptions& o, const std::vector<CreditRule>& rules,
                                                     int64_t seeds, const std::function<void(int64_t done)>& done);

struct CreditCostOptions {
  int64_t batch = 1, rtrl_units = 16;
  template <class V>
  void visit(V& v) {
    visit_episodes(v, batch);
    v("rtrl_units", rtrl_units, "maximum number of units for which full Jacobians (RTRL) are measured");
  }
};
struct CreditCost {
  double adjoint_s = 0, trace_s = 0, rtrl_s = 0;  // 0: not measured; one gradient of `batch` episodes, medians
  int64_t trace_bytes = 0, stored_bytes = 0;      // of one episode: traces; activations the adjoint form keeps
};
CreditCost credit_cost(const StackShape& s, const EpropTaskOptions& task, const CreditCostOptions& o);

// Leaks of L layers, geometrically from 0.5 (the lowest) to 0.05 (the top one); a single layer has 0.05.
std::vector<double> geometric_leaks(int64_t layers);

}  // namespace quern::lab
