// Environment `topological_order`: an order of d + 4 tasks of which some must wait for others. Every such order is
// right.
#include <set>

#include "quern/base/error.h"
#include "quern/gym/answer_verdicts.h"
#include "quern/gym/environment_registry.h"
#include "quern/gym/random_graph.h"

namespace quern::gym {
namespace {

using Waits = std::vector<std::pair<int64_t, int64_t>>;  // the first waits for the second

Problem topological_order(Rng& r, int64_t d) {
  const int64_t n = d + 4;
  std::vector<int64_t> rank;  // hidden; a task waits for tasks of lower rank
  for (int64_t i = 0; i < n; ++i) rank.push_back(i);
  shuffle(r, rank);
  Waits waits;
  for (const GraphEdge& e : connected_graph(r, n, n + n / 2, 1)) {
    const bool later = rank[static_cast<size_t>(e.a) - 1] > rank[static_cast<size_t>(e.b) - 1];
    waits.emplace_back(later ? e.a : e.b, later ? e.b : e.a);
  }
  std::vector<std::vector<int64_t>> after(static_cast<size_t>(n) + 1);
  std::vector<int64_t> open(static_cast<size_t>(n) + 1), order;
  std::vector<std::string> rules;
  Json::Array hidden;
  for (const auto& [task, first] : waits) {
    after[static_cast<size_t>(first)].push_back(task), ++open[static_cast<size_t>(task)];
    rules.push_back(fmt::format("{} after {}", task, first));
    hidden.emplace_back(task), hidden.emplace_back(first);
  }
  std::set<int64_t> ready;
  for (int64_t i = 1; i <= n; ++i)
    if (open[static_cast<size_t>(i)] == 0) ready.insert(i);
  Problem p;
  p.steps = fmt::format("Wait for none: {}.", fmt::join(ready, ", "));
  while (!ready.empty()) {
    const int64_t at = *ready.begin();
    ready.erase(ready.begin());
    order.push_back(at);
    std::vector<int64_t> free;
    for (int64_t task : after[static_cast<size_t>(at)])
      if (--open[static_cast<size_t>(task)] == 0) free.push_back(task), ready.insert(task);
    p.steps += fmt::format(" Do {}{}{}.", at, free.empty() ? "" : ", which frees ", fmt::join(free, ", "));
  }
  p.question = fmt::format(
      "Tasks are numbered 1 to {}. Some must come later than others: {}. Write all tasks in an order that obeys "
      "this, "
      "separated by commas.",
      n, fmt::join(rules, ", "));
  p.answer = fmt::format("{}", fmt::join(order, ", "));
  p.key = fmt::format("{}", fmt::join(rules, ", "));
  p.facts.set("waits", Json(std::move(hidden))), p.facts.set("tasks", n);
  return p;
}

class TopologicalOrder : public Environment {
 public:
  Problem generate(Rng& r, int64_t difficulty) const override { return topological_order(r, difficulty); }

  Verdict verify(const Problem& p, std::string_view reply) const override {
    const std::vector<int64_t> order = integers_in(final_answer(reply));
    const int64_t n = p.facts.at("tasks").as_int();
    if (std::ssize(order) != n) return {0, fmt::format("the answer is not a list of {} tasks", n)};
    std::vector<int64_t> place(order.size() + 1, -1);
    for (size_t i = 0; i < order.size(); ++i) {
      if (order[i] < 1 || order[i] > n) return {0, fmt::format("there is no task {}", order[i])};
      int64_t& at = place[static_cast<size_t>(order[i])];
      if (at >= 0) return {0, fmt::format("task {} is there twice", order[i])};
      at = static_cast<int64_t>(i);
    }
    const Json::Array& waits = p.facts.at("waits").as_array();
    for (size_t i = 0; i + 1 < waits.size(); i += 2) {
      const int64_t task = waits[i].as_int(), first = waits[i + 1].as_int();
      if (place[static_cast<size_t>(task)] < place[static_cast<size_t>(first)])
        return {0, fmt::format("{} must come after {}", task, first)};
    }
    return {1, "the order obeys every rule"};
  }
};

}  // namespace

void register_topological_order(EnvironmentRegistry& r) {
  r.add("topological_order", "an order of tasks of which some wait for others", std::make_unique<TopologicalOrder>(),
        "graphs and search");
}

}  // namespace quern::gym
