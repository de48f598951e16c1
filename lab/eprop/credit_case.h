// Test helper for the learning rules: stacks with weights and episodes, random or read from a golden file, and the
// distance of two gradients.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "lab/eprop/credit.h"
#include "quern/base/json.h"

namespace quern::lab {

inline constexpr double kExact = 1e-12;

// ‖a − b‖ / ‖b‖ over all layers and the readout.
inline double distance(const StackWeights& a, const StackWeights& b) {
  double difference = 0, size = 0;
  const auto add = [&](const std::vector<double>& x, const std::vector<double>& y) {
    ASSERT_EQ(x.size(), y.size());
    for (size_t i = 0; i < x.size(); ++i) difference += (x[i] - y[i]) * (x[i] - y[i]), size += y[i] * y[i];
  };
  for (size_t l = 0; l < a.layers.size(); ++l)
    add(a.layers[l].w, b.layers[l].w), add(a.layers[l].f, b.layers[l].f), add(a.layers[l].b, b.layers[l].b);
  add(a.v, b.v), add(a.c, b.c);
  EXPECT_GT(size, 0);
  return std::sqrt(difference / size);
}

struct CreditCase {
  StackShape shape;
  StackWeights weights;
  Episodes episodes;
  StackRun run() const { return run_stack(shape, weights, episodes); }
  StackWeights adjoint(CreditRule rule) const { return adjoint_gradient(shape, weights, episodes, run(), rule); }
  StackWeights trace(CreditRule rule) const { return trace_gradient(shape, weights, episodes, run(), rule); }
  StackWeights rtrl() const { return rtrl_gradient(shape, weights, episodes, run()); }
};

// Random weights and inputs; an answer is asked for at about half the steps.
inline CreditCase random_case(StackShape s, int64_t steps = 8, int64_t batch = 3) {
  Rng rng(11);
  CreditCase k{.shape = s,
               .weights = random_weights(s, rng),
               .episodes = {.steps = steps, .batch = batch, .x = {}, .label = {}}};
  if (s.biases)
    for (LayerWeights& l : k.weights.layers)
      for (double& x : l.b) x = 0.3 * rng.normal();
  for (int64_t i = 0; i < steps * s.inputs * batch; ++i) k.episodes.x.push_back(rng.normal());
  for (int64_t i = 0; i < steps * batch; ++i)
    k.episodes.label.push_back(static_cast<int>(rng.below(static_cast<uint64_t>(2 * s.classes))) -
                               static_cast<int>(s.classes));
  for (int& l : k.episodes.label) l = std::max(l, -1);
  return k;
}
inline void flatten(const Json& j, std::vector<double>& out) {
  if (j.is_number()) return out.push_back(j.as_double());
  for (const Json& x : j.as_array()) flatten(x, out);
}
inline std::vector<double> flat(const Json& j) {
  std::vector<double> out;
  flatten(j, out);
  return out;
}

inline StackWeights weights_of(const Json& layers, const Json& readout) {
  StackWeights w;
  for (size_t l = 0; l < layers.as_array().size(); ++l) {
    const Json::Array& k = layers.as_array()[l].as_array();
    if (k.size() < 3) break;
    w.layers.push_back({flat(k[0]), flat(k[1]), flat(k[2])});
  }
  w.v = flat(readout.as_array()[0]), w.c = flat(readout.as_array()[1]);
  return w;
}

// A golden's x, label, leak and weights.
inline CreditCase golden_case(const Json& g) {
  const Json& x = g.at("x");
  CreditCase k;
  k.episodes.steps = static_cast<int64_t>(x.as_array().size());
  k.episodes.batch = static_cast<int64_t>(x.as_array()[0].as_array()[0].as_array().size());
  k.episodes.x = flat(x);
  for (double l : flat(g.at("label"))) k.episodes.label.push_back(static_cast<int>(l));
  k.weights = weights_of(g.at("weights"), g.at("weights").as_array().back());
  k.shape = {.inputs = static_cast<int64_t>(x.as_array()[0].as_array().size()),
             .units = static_cast<int64_t>(k.weights.layers[0].b.size()),
             .classes = static_cast<int64_t>(k.weights.c.size()),
             .leak = flat(g.at("leak")),
             .diagonal = false,
             .biases = true};
  return k;
}

}  // namespace quern::lab
