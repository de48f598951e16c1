// The studies: cosines, Adam on the rules' gradients, costs.
#include "lab/eprop/study.h"

#include <algorithm>
#include <cmath>
#include <mutex>

#include "quern/base/error.h"
#include "quern/base/stopwatch.h"
#include "quern/base/threads.h"

namespace quern::lab {
namespace {

// Streams of one seed.
enum Stream : uint64_t { kStart = 1, kEpisodes = 2, kTest = 3 };

std::vector<std::vector<double>*> all_numbers(StackWeights& w) {
  std::vector<std::vector<double>*> out;
  for (LayerWeights& l : w.layers) out.insert(out.end(), {&l.w, &l.f, &l.b});
  out.insert(out.end(), {&w.v, &w.c});
  return out;
}

class DoubleAdam {
 public:
  DoubleAdam(const StackShape& s, double rate) : rate_(rate), mean_(zero_weights(s)), square_(mean_) {}
  void step(StackWeights& w, StackWeights& gradient) {
    ++t_;
    const double m_scale = 1 / (1 - std::pow(kFirst, t_)), v_scale = 1 / (1 - std::pow(kSecond, t_));
    const auto x = all_numbers(w), g = all_numbers(gradient), m = all_numbers(mean_), v = all_numbers(square_);
    for (size_t k = 0; k < x.size(); ++k)
      for (size_t i = 0; i < x[k]->size(); ++i) {
        const double d = (*g[k])[i];
        double &mi = (*m[k])[i], &vi = (*v[k])[i];
        mi = kFirst * mi + (1 - kFirst) * d;
        vi = kSecond * vi + (1 - kSecond) * d * d;
        (*x[k])[i] -= rate_ * mi * m_scale / (std::sqrt(vi * v_scale) + 1e-8);
      }
  }

 private:
  static constexpr double kFirst = 0.9, kSecond = 0.999;
  double rate_, t_ = 0;
  StackWeights mean_, square_;
};

double median_seconds(const std::function<void()>& f) {
  std::vector<double> s;
  for (int i = 0; i < 3; ++i) s.push_back(seconds_of(f));
  std::sort(s.begin(), s.end());
  return s[1];
}

}  // namespace

std::vector<std::vector<double>> gradient_cosines(const CosineOptions& o) {
  if (o.seeds < 1) fail("seeds {}: expected 1 or more", o.seeds);
  check(o.shape);
  const size_t layers = o.shape.leak.size();
  std::vector<std::vector<double>> mean(kCreditRules.size(), std::vector<double>(layers));
  std::vector<std::vector<std::vector<double>>> by_seed(static_cast<size_t>(o.seeds), mean);
  parallel_dynamic(o.seeds, [&](int64_t seed) {
    const uint64_t key = o.seed + static_cast<uint64_t>(seed);
    Rng start(key, kStart), draws(key, kEpisodes);
    const StackWeights w = random_weights(o.shape, start);
    const Episodes e = draw_episodes(o.task, o.batch, draws);
    const StackRun r = run_stack(o.shape, w, e);
    const StackWeights truth = adjoint_gradient(o.shape, w, e, r, CreditRule::bptt);
    for (size_t k = 0; k < kCreditRules.size(); ++k) {
      const StackWeights g = adjoint_gradient(o.shape, w, e, r, kCreditRules[k]);
      for (size_t l = 0; l < layers; ++l)
        by_seed[static_cast<size_t>(seed)][k][l] = cosine(g.layers[l], truth.layers[l]);
    }
  });
  for (const auto& one : by_seed)
    for (size_t k = 0; k < one.size(); ++k)
      for (size_t l = 0; l < layers; ++l) mean[k][l] += one[k][l] / static_cast<double>(o.seeds);
  return mean;
}

LearnOutcome learn_task(const LearnOptions& o) {
  check(o.shape);
  if (o.steps < 1 || o.window < 1) fail("steps {} and window {}: expected 1 or more", o.steps, o.window);
  Rng start(o.seed, kStart), draws(o.seed, kEpisodes), test(o.seed, kTest);
  StackWeights w = random_weights(o.shape, start);
  DoubleAdam adam(o.shape, o.rate);
  LearnOutcome out;
  std::vector<double> right;
  for (int64_t step = 1; step <= o.steps; ++step) {
    const Episodes e = draw_episodes(o.task, o.batch, draws);
    const StackRun r = run_stack(o.shape, w, e);
    right.push_back(static_cast<double>(r.right) / static_cast<double>(r.asked));
    if (out.learned_at < 0 && step >= o.window) {
      double sum = 0;
      for (int64_t i = step - o.window; i < step; ++i) sum += right[static_cast<size_t>(i)];
      if (sum >= 0.9 * static_cast<double>(o.window)) out.learned_at = step;
    }
    StackWeights g = adjoint_gradient(o.shape, w, e, r, o.rule);
    adam.step(w, g);
  }
  const StackRun r = run_stack(o.shape, w, draw_episodes(o.task, o.test_episodes, test));
  out.accuracy = static_cast<double>(r.right) / static_cast<double>(r.asked);
  return out;
}

std::vector<std::vector<LearnOutcome>> learn_task_by(const LearnOptions& o, const std::vector<CreditRule>& rules,
                                                     int64_t seeds, const std::function<void(int64_t)>& done) {
  if (seeds < 1) fail("seeds {}: expected 1 or more", seeds);
  std::vector<std::vector<LearnOutcome>> out(rules.size(), std::vector<LearnOutcome>(static_cast<size_t>(seeds)));
  std::mutex telling;
  int64_t ended = 0;
  parallel_dynamic(static_cast<int64_t>(rules.size()) * seeds, [&](int64_t i) {
    LearnOptions mine = o;
    mine.rule = rules[static_cast<size_t>(i / seeds)];
    mine.seed = o.seed + static_cast<uint64_t>(i % seeds);
    out[static_cast<size_t>(i / seeds)][static_cast<size_t>(i % seeds)] = learn_task(mine);
    const std::lock_guard lock(telling);
    if (done) done(++ended);
  });
  return out;
}

CreditCost credit_cost(const StackShape& s, const EpropTaskOptions& task, const CreditCostOptions& o) {
  Rng start(0, kStart), draws(0, kEpisodes);
  const StackWeights w = random_weights(s, start);
  const Episodes e = draw_episodes(task, o.batch, draws);
  const StackRun r = run_stack(s, w, e);
  CreditCost c;
  c.adjoint_s = median_seconds([&] { adjoint_gradient(s, w, e, r, CreditRule::full); });
  c.trace_s = median_seconds([&] { trace_gradient(s, w, e, r, CreditRule::full); });
  if (s.units <= o.rtrl_units) c.rtrl_s = median_seconds([&] { rtrl_gradient(s, w, e, r); });
  c.trace_bytes = trace_numbers(s) * 8;
  c.stored_bytes = 2 * s.layers() * e.steps * s.units * 8;
  return c;
}

std::vector<double> geometric_leaks(int64_t layers) {
  if (layers < 1) fail("layers {}: expected 1 or more", layers);
  if (layers == 1) return {0.05};
  std::vector<double> out;
  for (int64_t l = 0; l < layers; ++l)
    out.push_back(0.5 * std::pow(0.1, static_cast<double>(l) / static_cast<double>(layers - 1)));
  return out;
}

}  // namespace quern::lab
