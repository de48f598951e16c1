// Environment `knapsack`: of d + 3 items with weights and values those of the largest value that can be carried. A
// choice that can be carried earns the share of the largest value; only the largest value earns 1.
#include "quern/base/error.h"
#include "quern/gym/answer_verdicts.h"
#include "quern/gym/environment_registry.h"
#include "quern/gym/problem_words.h"

namespace quern::gym {
namespace {

struct Item {
  int64_t weight = 0, value = 0;
};

// Items of a choice with the largest value, by dynamic programming over items and capacity: n * capacity steps.
std::vector<size_t> best_choice(const std::vector<Item>& items, int64_t capacity) {
  const size_t width = static_cast<size_t>(capacity) + 1;
  std::vector<int64_t> best(width);
  std::vector<char> taken(items.size() * width);
  for (size_t i = 0; i < items.size(); ++i) {
    const auto weight = static_cast<size_t>(items[i].weight);
    for (size_t c = width; c-- > weight;)
      if (best[c - weight] + items[i].value > best[c])
        best[c] = best[c - weight] + items[i].value, taken[i * width + c] = 1;
  }
  std::vector<size_t> out;
  size_t c = width - 1;
  for (size_t i = items.size(); i-- > 0;)
    if (taken[i * width + c]) out.push_back(i + 1), c -= static_cast<size_t>(items[i].weight);
  std::reverse(out.begin(), out.end());
  return out;
}

Problem knapsack(Rng& r, int64_t d) {
  const int64_t n = d + 3, capacity = between(r, 8, 12) + 3 * std::min<int64_t>(d, 100);
  std::vector<Item> items;
  std::vector<std::string> texts;
  Json::Array hidden;
  for (int64_t i = 1; i <= n; ++i) {
    const Item item{between(r, 2, 8 + std::min<int64_t>(d, 20)), between(r, 1, 20)};
    items.push_back(item);
    texts.push_back(fmt::format("item {} (weight {}, value {})", i, item.weight, item.value));
    hidden.emplace_back(item.weight), hidden.emplace_back(item.value);
  }
  std::vector<size_t> chosen = best_choice(items, capacity);
  if (chosen.empty()) return knapsack(r, d);
  Problem p;
  int64_t weight = 0, value = 0;
  for (size_t i : chosen) {
    const Item& item = items[i - 1];
    p.steps += fmt::format("Take {}: weight {} + {} = {}, value {} + {} = {}. ", i, weight, item.weight,
                           weight + item.weight, value, item.value, value + item.value);
    weight += item.weight, value += item.value;
  }
  p.steps += fmt::format("No other choice up to weight {} is worth more.", capacity);
  p.question = fmt::format(
      "You can carry a weight of {} at most. There are {}. Which items have the largest total value that you can "
      "carry? "
      "Write their numbers, separated by commas.",
      capacity, fmt::join(texts, ", "));
  p.answer = fmt::format("{}", fmt::join(chosen, ", "));
  p.key = fmt::format("{}: {}", capacity, fmt::join(texts, ", "));
  p.facts.set("items", Json(std::move(hidden))), p.facts.set("capacity", capacity), p.facts.set("best", value);
  return p;
}

class Knapsack : public Environment {
 public:
  Problem generate(Rng& r, int64_t difficulty) const override { return knapsack(r, difficulty); }

  Verdict verify(const Problem& p, std::string_view reply) const override {
    const std::vector<int64_t> chosen = integers_in(final_answer(reply));
    if (chosen.empty()) return {0, "the answer is not a list of items"};
    const Json::Array& items = p.facts.at("items").as_array();
    const int64_t n = std::ssize(items) / 2;
    std::vector<char> seen(static_cast<size_t>(n) + 1);
    int64_t weight = 0, value = 0;
    for (int64_t i : chosen) {
      if (i < 1 || i > n) return {0, fmt::format("there is no item {}", i)};
      const auto at = static_cast<size_t>(i);
      if (seen[at]++) return {0, fmt::format("item {} is there twice", i)};
      weight += items[2 * at - 2].as_int(), value += items[2 * at - 1].as_int();
    }
    const int64_t capacity = p.facts.at("capacity").as_int(), best = p.facts.at("best").as_int();
    if (weight > capacity) return {0, fmt::format("the items weigh {}, more than {}", weight, capacity)};
    if (value == best) return {1, "the largest value"};
    return {static_cast<double>(value) / static_cast<double>(best), fmt::format("value {} of {}", value, best)};
  }
};

}  // namespace

void register_knapsack(EnvironmentRegistry& r) {
  r.add("knapsack", "the items of the largest value that can be carried; part of it for less",
        std::make_unique<Knapsack>(), "graphs and search");
}

}  // namespace quern::gym
