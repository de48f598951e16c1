#include "quern/recall/graph/resolvent.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "quern/base/threads.h"

namespace quern::recall {
namespace {

void check_alpha(RestartProb a) {
  if (!(a.value > 0 && a.value <= 1)) fail("restart probability {}, expected above 0 and at most 1", a.value);
}
void check_epsilon(double e) {
  if (!(e > 0)) fail("push: epsilon {}, expected above 0", e);
}

// What a push keeps between calls: dense arrays that are zero again at the end of each. What an edge touches lies
// together: a node asks to be pushed when its residual reaches its limit, and has none while it is unknown or in the
// queue.
struct PushScratch {
  static constexpr double kQueued = std::numeric_limits<double>::infinity();
  struct Node {
    double residual = 0, limit = 0;
  };
  std::vector<Node> nodes;
  std::vector<double> mass, extra;
  std::vector<uint64_t> seen;  // a bit a node
  std::vector<uint32_t> queue, crossed;
  size_t touched = 0;
  void fit(size_t n) {
    if (mass.size() >= n) return;
    nodes.resize(n), mass.resize(n), extra.resize(n), seen.resize((n + 63) / 64);
  }
  template <class Limit>
  void give(uint32_t v, double amount, Limit&& limit) {
    Node& n = nodes[v];
    n.residual += amount;
    if (n.residual >= n.limit) reached(v, limit);
  }
  template <class Limit>
  void reached(uint32_t v, Limit&& limit) {
    Node& n = nodes[v];
    if (!(seen[v / 64] >> (v % 64) & 1)) {
      seen[v / 64] |= uint64_t{1} << (v % 64), ++touched;
      n.limit = limit(v);
      if (n.residual < n.limit) return;
    }
    n.limit = kQueued;
    queue.push_back(v);
  }
  // amount · weight[i] to each of to[i]. Whether a node has reached its limit is foreseen by nobody: those that have
  // are noted without a branch and looked at afterwards.
  template <class Limit>
  void give_all(std::span<const uint32_t> to, const float* weight, double amount, Limit&& limit) {
    if (crossed.size() < to.size()) crossed.resize(to.size());
    Node* const node = nodes.data();
    uint32_t* const at = crossed.data();
    size_t n = 0;
    for (size_t i = 0; i < to.size(); ++i) {
      Node& v = node[to[i]];
      const double residual = v.residual + amount * weight[i];
      v.residual = residual;
      at[n] = to[i];
      n += residual >= v.limit;
    }
    for (size_t i = 0; i < n; ++i)
      if (node[at[i]].residual >= node[at[i]].limit) reached(at[i], limit);
  }
  double take(uint32_t v, double limit) {  // from the queue
    nodes[v].limit = limit;
    return std::exchange(nodes[v].residual, 0.0);
  }
  PushResult finish(size_t n) {
    PushResult r;
    r.mass.reserve(touched);
    for (size_t word = 0; word < (n + 63) / 64; ++word)
      for (uint64_t bits = std::exchange(seen[word], 0); bits != 0; bits &= bits - 1) {
        const size_t v = 64 * word + static_cast<size_t>(std::countr_zero(bits));
        if (mass[v] > 0) r.mass.emplace_back(static_cast<uint32_t>(v), mass[v]);
        r.residual += nodes[v].residual;
        mass[v] = 0, nodes[v] = {};
      }
    touched = 0, queue.clear();
    return r;
  }
};
PushScratch& scratch() {
  static thread_local PushScratch s;
  return s;
}

}  // namespace

Resolvent::Resolvent(GraphView out, GraphView in) : out_(out), in_(in) {
  QUERN_CHECK(out.size() == in.size() && out.to.size() == in.to.size(), "{} and {} edges", out.to.size(),
              in.to.size());
}

std::vector<double> Resolvent::row(std::span<const double> seed, RestartProb alpha, PowerOptions o) const {
  check_alpha(alpha);
  QUERN_CHECK(seed.size() == size(), "seed of {} for {} nodes", seed.size(), size());
  const double a = alpha.value, g = alpha.discount();
  std::vector<double> pi(size()), next(size()), share(size());
  for (size_t v = 0; v < size(); ++v) pi[v] = a * seed[v];
  // π_t = α Σ_{s ≤ t} (γPᵀ)^s p: what a step adds shrinks by γ.
  for (int64_t t = 0; t < o.max_iterations; ++t) {
    for (size_t v = 0; v < size(); ++v) share[v] = out_.degree[v] > 0 ? g * pi[v] / out_.degree[v] : 0;
    parallel_for(static_cast<int64_t>(size()), 8192, [&](int64_t b, int64_t e) {
      for (auto v = static_cast<size_t>(b); v < static_cast<size_t>(e); ++v) {
        double sum = a * seed[v];
        for (uint64_t i = in_.begin[v]; i < in_.begin[v + 1]; ++i) sum += in_.weight[i] * share[in_.to[i]];
        next[v] = sum;
      }
    });
    double change = 0;
    for (size_t v = 0; v < size(); ++v) change += std::abs(next[v] - pi[v]);
    pi.swap(next);
    if (change < o.tolerance) break;
  }
  if (o.normalize) {
    double sum = 0, wanted = 0;
    for (const double x : pi) sum += x;
    for (const double x : seed) wanted += x;
    if (sum > 0)
      for (double& x : pi) x *= wanted / sum;
  }
  return pi;
}

std::vector<double> Resolvent::column(std::span<const double> reward, RestartProb alpha, PowerOptions o) const {
  check_alpha(alpha);
  QUERN_CHECK(reward.size() == size(), "reward of {} for {} nodes", reward.size(), size());
  std::vector<double> v(reward.begin(), reward.end()), next(size());
  for (int64_t t = 0; t < o.max_iterations; ++t) {
    parallel_for(static_cast<int64_t>(size()), 8192, [&](int64_t b, int64_t e) {
      for (auto s = static_cast<size_t>(b); s < static_cast<size_t>(e); ++s) {
        double sum = 0;
        for (uint64_t i = out_.begin[s]; i < out_.begin[s + 1]; ++i) sum += out_.weight[i] * v[out_.to[i]];
        next[s] = reward[s] + (out_.degree[s] > 0 ? alpha.discount() * sum / out_.degree[s] : 0);
      }
    });
    double change = 0;
    for (size_t s = 0; s < size(); ++s) change = std::max(change, std::abs(next[s] - v[s]));
    v.swap(next);
    if (change < o.tolerance) break;
  }
  return v;
}

PushResult Resolvent::push_row(const SparseVector& seed, RestartProb alpha, double epsilon,
                               const ExtraNode* extra) const {
  check_alpha(alpha), check_epsilon(epsilon);
  PushScratch& s = scratch();
  const auto query = static_cast<uint32_t>(size());
  s.fit(size() + 1);
  double query_degree = 0;
  if (extra) {
    query_degree = extra->self;
    for (const auto& [v, w] : extra->edges) s.extra[v] = w, query_degree += w;
  }
  const auto degree = [&](uint32_t v) { return v == query ? query_degree : out_.degree[v] + s.extra[v]; };
  const auto limit = [&](uint32_t v) { return epsilon * degree(v); };
  const auto give = [&](uint32_t v, double amount) { s.give(v, amount, limit); };
  for (const auto& [v, w] : seed) {
    QUERN_CHECK(v < size() + (extra ? 1 : 0) && w >= 0, "seed {} of weight {}", v, w);
    give(v, w);
  }
  int64_t edges = 0;
  for (size_t head = 0; head < s.queue.size(); ++head) {
    const uint32_t u = s.queue[head];
    if (head + 2 < s.queue.size()) {  // rows lie anywhere
      const uint32_t next = s.queue[head + 1];
      if (next != query) {
        __builtin_prefetch(out_.to.data() + out_.begin[next]);
        __builtin_prefetch(out_.weight.data() + out_.begin[next]);
      }
      __builtin_prefetch(out_.begin.data() + s.queue[head + 2]),
          __builtin_prefetch(out_.degree.data() + s.queue[head + 2]);
    }
    const double d = degree(u), left = s.take(u, epsilon * d);
    if (left <= 0) continue;
    const std::span to =
        out_.to.subspan(u == query ? 0 : out_.begin[u], u == query ? 0 : out_.begin[u + 1] - out_.begin[u]);
    const float* const weight = out_.weight.data() + (u == query ? 0 : out_.begin[u]);
    // What comes back by the node's own loop comes back again: all of that at once, as Σ (γ loop / d)ᵗ. In rows that
    // do not ascend it may go unseen, and is an edge like others.
    double loop = out_.loop;
    if (u == query) {
      loop = extra->self;
    } else if (loop == 0) {
      const auto at = std::lower_bound(to.begin(), to.end(), u);
      if (at != to.end() && *at == u) loop = weight[at - to.begin()];
    }
    if (d <= 0) {  // the walk ends here
      s.mass[u] += alpha.value * left;
      continue;
    }
    const double again = alpha.discount() * loop, share = left / (d - again), spread = alpha.discount() * share;
    s.mass[u] += alpha.value * (again > 0 ? share * d : left);
    if (spread > 0) {
      if (u == query) {
        for (const auto& [v, w] : extra->edges) give(v, spread * w);
        edges += static_cast<int64_t>(extra->edges.size()) + 1;
      } else {
        s.nodes[u].limit = PushScratch::kQueued;
        s.give_all(to, weight, spread, limit);
        PushScratch::Node& own = s.nodes[u];  // what came back by the loop is in r already
        own = {std::max(0.0, own.residual - spread * loop), epsilon * d};
        if (own.residual >= own.limit) s.reached(u, limit);
        if (s.extra[u] > 0) give(query, spread * s.extra[u]);
        edges += static_cast<int64_t>(to.size());
      }
    }
    if (head > 65536 && 2 * head > s.queue.size()) {  // a long walk keeps no long past
      s.queue.erase(s.queue.begin(), s.queue.begin() + static_cast<std::ptrdiff_t>(head) + 1);
      head = static_cast<size_t>(-1);
    }
  }
  if (extra)
    for (const auto& [v, w] : extra->edges) s.extra[v] = 0;
  PushResult result = s.finish(size() + 1);
  result.edges = edges;
  return result;
}

PushResult Resolvent::push_column(const SparseVector& reward, RestartProb alpha, double epsilon) const {
  check_alpha(alpha), check_epsilon(epsilon);
  PushScratch& s = scratch();
  s.fit(size() + 1);
  const double above = std::nextafter(epsilon, 1.0);  // a residual of epsilon itself may stay
  const auto give = [&](uint32_t v, double amount) { s.give(v, amount, [&](uint32_t) { return above; }); };
  for (const auto& [v, w] : reward) {
    QUERN_CHECK(v < size() && w >= 0, "reward {} of weight {}", v, w);
    give(v, w);
  }
  int64_t edges = 0;
  for (size_t head = 0; head < s.queue.size(); ++head) {
    const uint32_t v = s.queue[head];
    const double r = s.take(v, above);
    s.mass[v] += r;
    for (uint64_t i = in_.begin[v]; i < in_.begin[v + 1]; ++i) {
      const uint32_t u = in_.to[i];
      if (out_.degree[u] > 0) give(u, alpha.discount() * r * in_.weight[i] / out_.degree[u]);
    }
    edges += static_cast<int64_t>(in_.begin[v + 1] - in_.begin[v]);
    if (head > 65536 && 2 * head > s.queue.size()) {
      s.queue.erase(s.queue.begin(), s.queue.begin() + static_cast<std::ptrdiff_t>(head) + 1);
      head = static_cast<size_t>(-1);
    }
  }
  PushResult result = s.finish(size() + 1);
  result.edges = edges;
  return result;
}

std::vector<double> Resolvent::global() const {
  QUERN_CHECK(symmetric_, "the closed form is that of symmetric graphs");
  const std::vector<uint32_t> component = components(out_);
  std::vector<double> sum(size()), nodes(size()), pi(size());
  for (size_t v = 0; v < size(); ++v) sum[component[v]] += out_.degree[v], nodes[component[v]] += 1;
  const double n = static_cast<double>(size());
  for (size_t v = 0; v < size(); ++v) {
    const double s = sum[component[v]];
    pi[v] = s > 0 ? nodes[component[v]] * out_.degree[v] / (s * n) : 1 / n;
  }
  return pi;
}

SparseGraph transposed(const GraphView& g) {
  SparseGraph t;
  t.begin.assign(g.size() + 1, 0), t.to.resize(g.to.size()), t.weight.resize(g.to.size());
  t.degree.assign(g.degree.begin(), g.degree.end());
  for (const uint32_t v : g.to) ++t.begin[v + 1];
  for (size_t v = 0; v < g.size(); ++v) t.begin[v + 1] += t.begin[v];
  std::vector<uint64_t> at(t.begin.begin(), t.begin.end() - 1);
  for (uint32_t u = 0; u < g.size(); ++u)
    for (uint64_t i = g.begin[u]; i < g.begin[u + 1]; ++i) {
      const uint64_t k = at[g.to[i]]++;
      t.to[k] = u, t.weight[k] = g.weight[i];
    }
  return t;
}

SparseGraph graph_of(size_t nodes, std::span<const std::pair<uint32_t, uint32_t>> edges,
                     std::span<const float> weights) {
  QUERN_CHECK(weights.empty() || weights.size() == edges.size(), "{} weights of {} edges", weights.size(),
              edges.size());
  SparseGraph g;
  g.begin.assign(nodes + 1, 0), g.to.resize(edges.size()), g.weight.resize(edges.size());
  for (const auto& [u, v] : edges) {
    if (u >= nodes || v >= nodes) fail("graph: edge {} → {} of {} nodes", u, v, nodes);
    ++g.begin[u + 1];
  }
  for (size_t v = 0; v < nodes; ++v) g.begin[v + 1] += g.begin[v];
  std::vector<uint64_t> at(g.begin.begin(), g.begin.end() - 1);
  for (size_t i = 0; i < edges.size(); ++i) {
    const uint64_t k = at[edges[i].first]++;
    g.to[k] = edges[i].second, g.weight[k] = weights.empty() ? 1 : weights[i];
  }
  g.sum_degrees();
  return g;
}

SuccessorLearner::SuccessorLearner(size_t states, double discount) : n_(states), discount_(discount), m_(n_ * n_) {
  if (!(discount >= 0 && discount < 1)) fail("successor learning: discount {}, expected from 0 to below 1", discount);
  for (size_t s = 0; s < n_; ++s) m_[s * n_ + s] = 1;
}

void SuccessorLearner::step(uint32_t from, uint32_t to, double rate) {
  QUERN_CHECK(from < n_ && to < n_, "step {} → {} of {} states", from, to, n_);
  double* m = m_.data() + from * n_;
  const double* next = m_.data() + to * n_;
  for (size_t j = 0; j < n_; ++j) m[j] += rate * ((j == from ? 1 : 0) + discount_ * next[j] - m[j]);
}

}  // namespace quern::recall
