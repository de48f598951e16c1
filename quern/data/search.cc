// Drawing tries and writing them down.
#include "quern/data/search.h"

#include <algorithm>

#include "quern/base/error.h"

namespace quern {
namespace {

bool has(const std::vector<size_t>& v, size_t x) { return std::find(v.begin(), v.end(), x) != v.end(); }

std::vector<size_t> drawn(const Search& s, Rng& r, bool finds, std::string_view seen) {
  std::vector<size_t> shown;
  for (size_t i = 0; i < s.tries.size() && shown.empty(); ++i)
    if (s.tries[i].fits && seen.find(s.tries[i].text) != seen.npos) shown.push_back(i);
  const size_t behind = shown.size();  // what was seen stays first
  if (finds && !has(shown, 0)) shown.push_back(0);
  while (shown.size() < kTriesShown)
    if (const size_t i = 1 + r.below(s.tries.size() - 1); !has(shown, i)) shown.push_back(i);
  for (size_t i = shown.size(); i > behind + 1; --i) std::swap(shown[i - 1], shown[behind + r.below(i - behind)]);
  return shown;
}

}  // namespace

SearchWorking search_working(const Search& s, Rng& r, bool finds, std::string_view seen) {
  if (s.tries.size() <= kTriesShown || !s.tries[1].fits)
    fail("a search among {} tries, expected more than {} and two that fit", s.tries.size(), kTriesShown);
  std::vector<size_t> shown;
  const auto fits = [&](size_t i) { return s.tries[i].fits; };
  do shown = drawn(s, r, finds, seen);
  while (std::none_of(shown.begin(), shown.end(), fits));
  const Try& best = s.tries[*std::min_element(shown.begin(), shown.end())];
  SearchWorking w{.answer = best.result};
  for (size_t i : shown) w.steps += s.tries[i].text + ". ";
  w.steps += "Best: " + best.text + ".";
  return w;
}

}  // namespace quern
