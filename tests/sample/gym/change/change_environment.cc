// Environment `change`: an amount to be paid with as few coins as possible. The example of
// docs/gym/adding-an-environment.md.
#include <algorithm>
#include <array>

#include "quern/base/error.h"
#include "quern/gym/environment_registry.h"

namespace quern::gym {
namespace {

constexpr std::array<int64_t, 5> kCoins = {50, 20, 10, 5, 1};  // of which taking the largest first is best

std::vector<int64_t> fewest_coins(int64_t amount) {
  std::vector<int64_t> coins;
  for (int64_t c : kCoins)
    for (; amount >= c; amount -= c) coins.push_back(c);
  return coins;
}

// "50, 5 and 1" → {50, 5, 1}; a number of more than nine digits is no coin.
std::vector<int64_t> numbers_in(std::string_view text) {
  std::vector<int64_t> out;
  for (size_t i = 0; i < text.size();) {
    const size_t end = std::min(text.find_first_not_of("0123456789", i), text.size());
    if (end > i) out.push_back(end - i > 9 ? 0 : std::stoll(std::string(text.substr(i, end - i))));
    i = std::max(end, i + 1);
  }
  return out;
}

class Change : public Environment {
 public:
  Problem generate(Rng& r, int64_t difficulty) const override {
    const int64_t least = 10 * difficulty + 2, amount = least + static_cast<int64_t>(r.below(10));
    const std::vector<int64_t> coins = fewest_coins(amount);
    Problem p;
    p.question =
        fmt::format("Coins are worth {}. Pay {} with as few coins as possible.", fmt::join(kCoins, ", "), amount);
    for (int64_t c : kCoins)
      if (const auto n = std::ranges::count(coins, c)) p.steps += fmt::format("{} of {}. ", n, c);
    p.steps.pop_back();
    p.answer = fmt::format("{}", fmt::join(coins, ", "));
    p.key = std::to_string(amount);
    p.facts.set("amount", amount), p.facts.set("fewest", static_cast<int64_t>(coins.size()));
    return p;
  }

  Verdict verify(const Problem& p, std::string_view reply) const override {
    const std::vector<int64_t> coins = numbers_in(final_answer(reply));
    if (coins.empty()) return {0, "no coins in the answer"};
    int64_t sum = 0;
    for (int64_t c : coins) {
      if (std::ranges::find(kCoins, c) == kCoins.end()) return {0, fmt::format("there is no coin of {}", c)};
      sum += c;
    }
    const int64_t amount = p.facts.at("amount").as_int(), fewest = p.facts.at("fewest").as_int();
    if (sum != amount) return {0, fmt::format("the coins make {}, not {}", sum, amount)};
    const auto used = static_cast<int64_t>(coins.size());
    if (used == fewest) return {1, "the amount in the fewest coins"};
    return {static_cast<double>(fewest) / static_cast<double>(used), fmt::format("{} coins would do", fewest)};
  }
};

}  // namespace

void register_change(EnvironmentRegistry& r) {
  r.add("change", "an amount to be paid with as few coins as possible", std::make_unique<Change>(), "games");
}

}  // namespace quern::gym
