// Environment `combinations`: counts of orders, choices, ways through a grid, arrangements of letters and numbers
// with a divisor. Saturates at difficulty 16, above which counts would not fit.
#include <map>

#include "quern/base/error.h"
#include "quern/gym/answer_verdicts.h"
#include "quern/gym/environment_registry.h"
#include "quern/gym/problem_words.h"

namespace quern::gym {
namespace {

constexpr int64_t kHardest = 16;

Problem orders(Rng& r, int64_t d) {
  const int64_t n = between(r, 3, 4 + d / 2), places = between(r, 2, n);
  Problem p;
  int64_t ways = 1;
  for (int64_t i = 0; i < places; ++i) {
    p.steps += fmt::format("{}Place {}: {} can stand there, {} * {} = {}.", i == 0 ? "" : " ", i + 1, n - i, ways,
                           n - i, ways * (n - i));
    ways *= n - i;
  }
  p.question = places == n
                   ? fmt::format("In how many orders can {} people stand in a line?", n)
                   : fmt::format(
                         "A line has {} places. In how many ways can it be filled with {} of {} people, if the "
                         "order counts?",
                         places, places, n);
  p.answer = std::to_string(ways), p.key = fmt::format("orders {} {}", n, places);
  return p;
}

// C(n, k) one factor at a time: every partial product is a count of choices itself.
int64_t choose(int64_t n, int64_t k, std::string& steps) {
  int64_t ways = 1;
  for (int64_t i = 1; i <= k; ++i) {
    steps +=
        fmt::format("{}{} * {} / {} = {}.", steps.empty() ? "" : " ", ways, n - k + i, i, ways * (n - k + i) / i);
    ways = ways * (n - k + i) / i;
  }
  return ways;
}

Problem choices(Rng& r, int64_t d) {
  const int64_t n = between(r, 4 + d / 2, 5 + d), k = between(r, 2, 2 + d / 4);
  Problem p;
  p.answer = std::to_string(choose(n, k, p.steps));
  p.question = fmt::format("In how many ways can {} of {} books be chosen, if the order does not count?", k, n);
  p.key = fmt::format("choices {} {}", n, k);
  return p;
}

Problem grid_ways(Rng& r, int64_t d) {
  const int64_t right = between(r, 1, 3 + d / 2), up = between(r, 2, 3 + d / 3);
  Problem p;
  p.answer = std::to_string(choose(right + up, std::min(right, up), p.steps));
  p.steps = fmt::format("{} of {} steps go one way: {}", std::min(right, up), right + up, p.steps);
  p.question = fmt::format(
      "On a grid, a step goes right or up by one. How many different ways lead from (0, 0) to ({}, {})?", right, up);
  p.key = fmt::format("ways {} {}", std::min(right, up), std::max(right, up));
  return p;
}

Problem letters(Rng& r, int64_t d) {
  const int64_t n = 3 + d / 2, kinds = between(r, 2, std::min<int64_t>(n, 5));
  std::map<char, int64_t> counts;
  std::string word;
  for (int64_t i = 0; i < n; ++i)
    word += "aeinorst"[i < kinds ? i : static_cast<int64_t>(r.below(static_cast<uint64_t>(kinds)))];
  std::vector<char> order(word.begin(), word.end());
  shuffle(r, order);
  word.assign(order.begin(), order.end());
  for (char c : word) ++counts[c];
  Problem p;
  int64_t left = n, ways = 1;
  for (const auto& [c, k] : counts) {
    std::string steps;
    const int64_t here = choose(left, k, steps);
    p.steps += fmt::format("{}Places of {} among {}: {} So far {} * {} = {}.", p.steps.empty() ? "" : " ", c, left,
                           steps, ways, here, ways * here);
    ways *= here, left -= k;
  }
  p.question = fmt::format(
      "In how many different ways can the letters of \"{}\" be arranged? Equal letters count as the same.", word);
  std::sort(word.begin(), word.end());
  p.answer = std::to_string(ways), p.key = "letters " + word;
  return p;
}

Problem multiples(Rng& r, int64_t d) {
  const int64_t n = between(r, 15 + 20 * d, 40 + 60 * d), a = between(r, 2, 5 + d), b = a + between(r, 1, 5);
  int64_t g = a, rest = b;
  while (rest != 0) std::tie(g, rest) = std::pair(rest, g % rest);
  const int64_t both = a / g * b, count = n / a + n / b - n / both;
  return {
      .question =
          fmt::format("How many of the whole numbers from 1 to {} are divisible by {} or by {} or by both?", n, a, b),
      .steps = fmt::format("By {}: {}. By {}: {}. By both, that is by {}: {}. {} + {} = {}. {} - {} = {}.", a, n / a,
                           b, n / b, both, n / both, n / a, n / b, n / a + n / b, n / a + n / b, n / both, count),
      .answer = std::to_string(count),
      .key = fmt::format("multiples {} {} {}", n, a, b)};
}

class Combinations : public Environment {
 public:
  Problem generate(Rng& r, int64_t difficulty) const override {
    constexpr std::array kKinds = {orders, choices, grid_ways, letters, multiples};
    return kKinds[r.below(kKinds.size())](r, std::min(difficulty, kHardest));
  }
  Verdict verify(const Problem& p, std::string_view reply) const override { return judge_integer(p, reply); }
  std::optional<int64_t> saturates_at() const override { return kHardest; }
};

}  // namespace

void register_combinations(EnvironmentRegistry& r) {
  r.add("combinations", "counts of orders, choices, ways and arrangements", std::make_unique<Combinations>(),
        "counting and probability");
}

}  // namespace quern::gym
