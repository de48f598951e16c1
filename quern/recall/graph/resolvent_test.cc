// Walks: igraph's PageRank and a dense inverse at 1e-6; PageRank = (1 − γ) successor representation; detailed
// balance; push within its bound; the closed form for α → 0; learning from steps.
#include "quern/recall/graph/resolvent.h"

#include <gtest/gtest.h>

#include <cmath>

#include "quern/base/json.h"
#include "quern/base/rng.h"
#include "quern/base/test_message.h"

namespace quern::recall {
namespace {

struct Walk {
  SparseGraph out, in;
  bool directed = false;
  std::vector<double> cue, reward;
  Resolvent resolvent() const { return directed ? Resolvent(out.view(), in.view()) : Resolvent(out.view()); }
};

std::vector<double> numbers(const Json& j) {
  std::vector<double> v;
  for (const Json& x : j.as_array()) v.push_back(x.as_double());
  return v;
}

Walk read_walk(const Json& j) {
  Walk w;
  w.directed = j.at("directed").as_bool(), w.cue = numbers(j.at("cue")), w.reward = numbers(j.at("reward"));
  std::vector<std::pair<uint32_t, uint32_t>> edges;
  std::vector<float> weights;
  for (const Json& e : j.at("edges").as_array()) {
    const auto& v = e.as_array();
    const auto a = static_cast<uint32_t>(v[0].as_int()), b = static_cast<uint32_t>(v[1].as_int());
    edges.emplace_back(a, b), weights.push_back(static_cast<float>(v[2].as_double()));
    if (!w.directed && a != b) edges.emplace_back(b, a), weights.push_back(weights.back());
  }
  w.out = graph_of(static_cast<size_t>(j.at("nodes").as_int()), edges, weights);
  w.in = transposed(w.out.view());
  return w;
}

const Json& goldens() {
  static const Json g = Json::read(std::string(QUERN_SOURCE_DIR) + "/tests/goldens/recall/walks.json");
  return g;
}

TEST(Resolvent, EqualsIgraphAndTheDenseInverse) {
  int runs = 0;
  for (const Json& j : goldens().as_array()) {
    const Walk w = read_walk(j);
    const Resolvent r = w.resolvent();
    for (const Json& run : j.at("runs").as_array()) {
      const RestartProb alpha{run.at("alpha").as_double()};
      const auto pagerank = numbers(run.at("pagerank")), values = numbers(run.at("values")),
                 row3 = numbers(run.at("row_3"));
      const auto pi = r.row(w.cue, alpha), v = r.column(w.reward, alpha);
      std::vector<double> e3(r.size());
      e3[3] = 1;
      const auto from3 = r.row(e3, alpha);
      for (size_t i = 0; i < r.size(); ++i) {
        EXPECT_NEAR(pi[i], pagerank[i], 1e-8);
        EXPECT_NEAR(v[i], values[i], 1e-7);
        EXPECT_NEAR(from3[i], alpha.value * row3[i], 1e-9);  // PageRank of a cue = (1 − γ) its successor row
      }
      ++runs;
    }
  }
  EXPECT_EQ(runs, 12);
}

TEST(Resolvent, PushIsWithinItsBound) {
  for (const Json& j : goldens().as_array()) {
    const Walk w = read_walk(j);
    const Resolvent r = w.resolvent();
    SparseVector cue, reward;
    for (uint32_t v = 0; v < r.size(); ++v) {
      if (w.cue[v] > 0) cue.emplace_back(v, w.cue[v]);
      reward.emplace_back(v, w.reward[v]);
    }
    for (const double a : {0.6, 0.15})
      for (const double epsilon : {1e-3, 1e-9}) {
        const auto exact = r.row(w.cue, {a}), values = r.column(w.reward, {a});
        const PushResult row = r.push_row(cue, {a}, epsilon), column = r.push_column(reward, {a}, epsilon);
        std::vector<double> pi(r.size()), v(r.size());
        double sum = row.residual, left = 0;
        for (const auto& [n, m] : row.mass) pi[n] = m, sum += m;
        for (const auto& [n, m] : column.mass) v[n] = m;
        EXPECT_NEAR(sum, 1, 1e-12);
        for (size_t n = 0; n < r.size(); ++n) {
          left += exact[n] - pi[n];
          EXPECT_GE(exact[n] - pi[n], -1e-12);
          EXPECT_TRUE(w.directed || exact[n] - pi[n] <= epsilon * w.out.degree[n] + 1e-12);
          EXPECT_GE(values[n] - v[n], -1e-9);
          EXPECT_LE(values[n] - v[n], epsilon / a + 1e-9);
        }
        EXPECT_NEAR(left, row.residual, 1e-9);
      }
  }
}

TEST(Resolvent, DetailedBalance) {
  const Walk w = read_walk(goldens().as_array()[0]);
  const Resolvent r = w.resolvent();
  std::vector<std::vector<double>> rows;
  for (size_t s = 0; s < r.size(); ++s) {
    std::vector<double> e(r.size());
    e[s] = 1;
    rows.push_back(r.row(e, {0.3}));
    double sum = 0;
    for (const double x : rows.back()) sum += x;
    EXPECT_NEAR(sum, 1, 1e-9);
  }
  for (size_t s = 0; s < r.size(); ++s)
    for (size_t t = 0; t < s; ++t) EXPECT_NEAR(w.out.degree[s] * rows[s][t], w.out.degree[t] * rows[t][s], 1e-9);
}

TEST(Resolvent, ExtremesOfAlpha) {
  const Walk w = read_walk(goldens().as_array()[1]);
  const Resolvent r = w.resolvent();
  EXPECT_EQ(r.row(w.cue, {1}), w.cue);
  // α → 0 from a uniform start.
  const std::vector<double> uniform(r.size(), 1.0 / static_cast<double>(r.size())), g = r.global();
  const auto near_zero = r.row(uniform, {1e-7}, {.tolerance = 1e-16, .max_iterations = 200000});
  double total = 0;
  for (size_t v = 0; v < r.size(); ++v) total += near_zero[v];
  for (size_t v = 0; v < r.size(); ++v) EXPECT_NEAR(near_zero[v] / total, g[v], 1e-4);
  EXPECT_NE(message_of([&] { r.row(w.cue, {0}); }).find("restart probability"), std::string::npos);
  EXPECT_NE(message_of([&] { r.push_row({{0, 1}}, {0.5}, 0); }).find("epsilon"), std::string::npos);
}

TEST(Resolvent, AQueryNodeIsANodeOfTheGraph) {
  const Walk w = read_walk(goldens().as_array()[0]);
  const size_t n = w.out.size();
  const std::vector<std::pair<uint32_t, float>> joins = {{2, 0.5f}, {7, 0.25f}, {30, 0.9f}};
  std::vector<std::pair<uint32_t, uint32_t>> edges;
  std::vector<float> weights;
  const auto edge = [&](size_t a, size_t b, float x) {
    edges.emplace_back(static_cast<uint32_t>(a), static_cast<uint32_t>(b)), weights.push_back(x);
  };
  for (uint32_t u = 0; u < n; ++u)
    for (uint64_t i = w.out.begin[u]; i < w.out.begin[u + 1]; ++i) edge(u, w.out.to[i], w.out.weight[i]);
  for (const auto& [v, x] : joins) edge(n, v, x), edge(v, n, x);
  edge(n, n, 1);
  const SparseGraph bigger = graph_of(n + 1, edges, weights);
  std::vector<double> seed(n + 1);
  seed[n] = 1;
  const auto exact = Resolvent(bigger.view()).row(seed, {0.6});
  const ExtraNode extra{.edges = joins};
  const PushResult push = w.resolvent().push_row({{static_cast<uint32_t>(n), 1}}, {0.6}, 1e-12, &extra);
  std::vector<double> pi(n + 1);
  for (const auto& [v, m] : push.mass) pi[v] = m;
  for (size_t v = 0; v <= n; ++v) EXPECT_NEAR(pi[v], exact[v], 1e-9);
}

TEST(Resolvent, NodesWithoutEdgesEndTheWalk) {
  const std::vector<std::pair<uint32_t, uint32_t>> edges = {{0, 1}, {0, 2}};
  const SparseGraph out = graph_of(3, edges), in = transposed(out.view());
  const Resolvent r(out.view(), in.view());
  const std::vector<double> p = {1, 0, 0};
  const auto pi = r.row(p, {0.5});
  EXPECT_NEAR(pi[0], 0.5, 1e-12);
  EXPECT_NEAR(pi[1], 0.125, 1e-12);
  const auto whole = r.row(p, {0.5}, {.normalize = true});
  EXPECT_NEAR(whole[0] + whole[1] + whole[2], 1, 1e-12);
  EXPECT_NEAR(whole[0] / whole[1], 4, 1e-9);
  EXPECT_NEAR(r.push_row({{0, 1}}, {0.5}, 1e-9).mass[1].second, 0.125, 1e-9);
}

TEST(Resolvent, SuccessorsAreLearnedFromSteps) {
  const Walk w = read_walk(goldens().as_array()[3]);
  const Resolvent r = w.resolvent();
  SuccessorLearner learner(r.size(), 0.7);
  const auto error = [&] {
    double difference = 0, norm = 0;
    for (uint32_t s = 0; s < r.size(); ++s) {
      std::vector<double> e(r.size());
      e[s] = 1;
      const auto row = r.row(e, {0.3});
      for (size_t t = 0; t < r.size(); ++t) {
        difference += std::pow(learner.row(s)[t] - row[t] / 0.3, 2);
        norm += std::pow(row[t] / 0.3, 2);
      }
    }
    return std::sqrt(difference / norm);
  };
  Rng rng(6);
  uint32_t state = 0;
  const double before = error();
  for (int t = 0; t < 200000; ++t) {
    double u = rng.uniform() * w.out.degree[state];
    uint64_t i = w.out.begin[state];
    while (i + 1 < w.out.begin[state + 1] && u >= w.out.weight[i]) u -= w.out.weight[i++];
    learner.step(state, w.out.to[i], 20.0 / (400 + t * 0.02));
    state = w.out.to[i];
  }
  EXPECT_LT(error(), 0.1);
  EXPECT_GT(before, 0.3);
}

}  // namespace
}  // namespace quern::recall
