// The resolvent of a random walk, the common kernel of retrieval and planning. For a walk P (rows sum to one),
// discount γ and restart probability α = 1 − γ:
//   successor representation   M = (I − γP)⁻¹ = Σ γᵗ Pᵗ
//   personalized PageRank      π_p = α (I − γPᵀ)⁻¹ p = (1 − γ) Mᵀ p        a row of M, mixed over cues: what p recalls
//   values of a reward         V = M r                                       a column: how near every state is to r
// By power iteration (exact to a tolerance, cost iterations × edges) or by local push (cost independent of the graph's
// size, with a bound on the error). On a symmetric graph d_s π_s(t) = d_t π_t(s), so rows and columns interchange, and
// for α → 0 the row is in closed form: mass ∝ degree within each component. A node without edges ends the walk: its
// row of P is zero.
#pragma once
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "quern/recall/graph/gram.h"

namespace quern::recall {

// The probability of going back to the cue at each step, 1 − γ. Other libraries' "damping" is γ.
struct RestartProb {
  double value;
  double discount() const { return 1 - value; }
};

using SparseVector = std::vector<std::pair<uint32_t, double>>;

struct PowerOptions {
  double tolerance = 1e-12;  // L1 change of one step
  int64_t max_iterations = 10000;
  bool normalize = false;  // a row: what the walk loses at its ends goes back to the seed
};

struct PushResult {
  SparseVector mass;    // by node, ascending
  double residual = 0;  // what was not distributed: Σ mass + residual = Σ seed for a row
  int64_t edges = 0;    // looked at
};

// One more node, joined to a graph for the time of a query: the query itself.
struct ExtraNode {
  std::span<const std::pair<uint32_t, float>> edges;  // to nodes of the graph, both ways
  float self = 1;                                     // its own loop
};

class Resolvent {
 public:
  // Symmetric: a node's edges lead both ways.
  explicit Resolvent(GraphView symmetric) : out_(symmetric), in_(symmetric), symmetric_(true) {}
  // Directed: `in` holds the same edges by their ends (transposed()), its degrees are those of `out` still.
  Resolvent(GraphView out, GraphView in);

  // π for seed p (any non-negative weights), densely.
  std::vector<double> row(std::span<const double> seed, RestartProb alpha, PowerOptions o = {}) const;
  std::vector<double> column(std::span<const double> reward, RestartProb alpha, PowerOptions o = {}) const;  // M r

  // Row by push: each node's error is below ε times its degree; on a symmetric graph at most 1/(αε) degree is walked.
  // With `extra`, the graph has one node more, number size().
  PushResult push_row(const SparseVector& seed, RestartProb alpha, double epsilon,
                      const ExtraNode* extra = nullptr) const;
  // Column by reverse push: each value's error is at most ε / (1 − γ).
  PushResult push_column(const SparseVector& reward, RestartProb alpha, double epsilon) const;

  // Symmetric: the limit α → 0 from a uniform start: |component| d / Σ d of the component, over n.
  std::vector<double> global() const;
  size_t size() const { return out_.size(); }

 private:
  GraphView out_, in_;
  bool symmetric_ = false;
};

SparseGraph transposed(const GraphView& g);  // degrees copied from g
SparseGraph graph_of(size_t nodes, std::span<const std::pair<uint32_t, uint32_t>> edges,
                     std::span<const float> weights = {});  // directed; empty weights: all one

// M learned from steps alone: M_s ← M_s + η (e_s + γ M_s' − M_s). Dense; for small worlds.
class SuccessorLearner {
 public:
  SuccessorLearner(size_t states, double discount);
  void step(uint32_t from, uint32_t to, double rate);
  std::span<const double> row(uint32_t state) const { return {m_.data() + state * n_, n_}; }

 private:
  size_t n_;
  double discount_;
  std::vector<double> m_;
};

}  // namespace quern::recall
