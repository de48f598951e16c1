// Bags and coins: problems that are solved by trying, and by keeping the best that was found.
#include <algorithm>
#include <array>

#include "quern/base/error.h"
#include "quern/data/problem_words.h"
#include "quern/data/problems.h"

namespace quern::problems {
namespace {

struct Valued {
  Try t;
  int64_t value;
};

// The better ones first; false if two are best, or too few are there to search among.
bool solved(std::vector<Valued> all, bool most, Problem& p) {
  auto better = [&](const Valued& a, const Valued& b) {
    if (a.t.fits != b.t.fits) return a.t.fits;
    return most ? a.value > b.value : a.value < b.value;
  };
  std::stable_sort(all.begin(), all.end(), better);
  if (all.size() <= kTriesShown || !all[1].t.fits || all[0].value == all[1].value) return false;
  for (Valued& v : all) p.search.tries.push_back(std::move(v.t));
  p.answer = p.search.tries[0].result;
  return true;
}

struct CoinsLevel {
  int64_t largest, smallest_sum, largest_sum;
};
constexpr std::array<CoinsLevel, 5> kCoins = {{{9, 12, 40}, {9, 12, 30}, {12, 20, 50}, {15, 30, 70}, {19, 50, 99}}};
constexpr int64_t kWorse = 12;  // coins more than the fewest that are still worth trying

bool coins_of(Rng& r, int level, Problem& p) {
  const CoinsLevel& l = kCoins[static_cast<size_t>(level - 1)];
  const int64_t a = between(r, 4, l.largest), b = level == 1 ? 0 : between(r, 2, a - 1),
                sum = between(r, l.smallest_sum, l.largest_sum);
  std::vector<Valued> all;
  for (int64_t i = sum / a; i >= 0; --i)
    for (int64_t j = b > 0 ? (sum - i * a) / b : 0; j >= 0; --j) {
      const int64_t ones = sum - i * a - j * b, n = i + j + ones;
      const std::string second = b > 0 ? fmt::format(" + {} * {}", j, b) : "";
      all.push_back({{.text = fmt::format("{} * {}{} + {} = {}: {} coins", i, a, second, ones, sum, n),
                      .result = fmt::format("{} coins", n)},
                     n});
    }
  const Valued greedy = all.front();  // as many of the largest as go in, then of the next
  const int64_t fewest = std::min_element(all.begin(), all.end(), [](const Valued& x, const Valued& y) {
                           return x.value < y.value;
                         })->value;
  std::erase_if(all, [&](const Valued& v) { return v.value > fewest + kWorse; });
  if (fewest < 2 || (level == 5 && greedy.value == fewest)) return false;
  p.key = fmt::format("{} {} {}", a, b, sum);
  p.question = fmt::format("There are coins of {}{} and 1. What is the fewest coins that make {}?", a,
                           b > 0 ? fmt::format(", {}", b) : "", sum);
  return solved(std::move(all), false, p);
}

struct BagsLevel {
  size_t boxes;
  int64_t heaviest;
};
constexpr std::array<BagsLevel, 5> kBags = {{{4, 20}, {5, 30}, {6, 40}, {8, 50}, {10, 60}}};

bool bags_of(Rng& r, int level, Problem& p) {
  const BagsLevel& l = kBags[static_cast<size_t>(level - 1)];
  std::vector<int64_t> w;
  while (w.size() < l.boxes)
    if (const int64_t x = between(r, 2, l.heaviest); std::find(w.begin(), w.end(), x) == w.end()) w.push_back(x);
  std::vector<std::pair<int64_t, int64_t>> pairs;
  for (size_t i = 0; i < w.size(); ++i)
    for (size_t j = i + 1; j < w.size(); ++j) pairs.emplace_back(w[i], w[j]);
  const auto [one, other] = pairs[r.below(pairs.size())];
  const int64_t limit = one + other + between(r, 0, 2);
  std::vector<Valued> all;
  for (const auto& [x, y] : pairs) {
    const int64_t sum = x + y,
                  room = limit - sum;  // said in each try, so that tries can be told apart without the limit
    all.push_back({{.text = fmt::format("{} + {} = {}, {} {}", x, y, sum, std::abs(room), room < 0 ? "over" : "left"),
                    .result = fmt::format("{} kg", sum),
                    .fits = room >= 0},
                   sum});
  }
  // What is far from the limit is not worth trying.
  std::erase_if(all, [&](const Valued& v) { return std::abs(v.value - limit) > l.heaviest / 2; });
  p.question = fmt::format(
      "Two boxes go into a bag that holds {} kg. There are boxes of {} kg. What is the most they can "
      "weigh?",
      limit, fmt::join(w, ", "));
  std::sort(w.begin(), w.end());
  p.key = fmt::format("{}: {}", limit, fmt::join(w, " "));
  return solved(std::move(all), true, p);
}

template <class Draw>
Problem searched(Rng& r, int level, Draw&& draw) {
  for (;;) {
    Problem p;
    if (!draw(r, level, p)) continue;
    p.steps = search_working(p.search, r, true).steps;
    return p;
  }
}

}  // namespace

Problem bags(Rng& r, int level) { return searched(r, level, bags_of); }
Problem coins(Rng& r, int level) { return searched(r, level, coins_of); }

}  // namespace quern::problems
