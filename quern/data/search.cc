// Drawing tries and writing them down.
#include "quern/data/search.h"

#include <algorithm>

#include "quern/base/error.h"

namespace quern {
namespace {

std::string written(const Search& s, const std::vector<size_t>& shown) {
  std::string out;
  for (size_t i : shown) out += s.tries[i].text + (s.tries[i].fits ? ". " : " is too much. ");
  return out + "Best: " + s.tries[*std::min_element(shown.begin(), shown.end())].result + ".";
}

bool has(const std::vector<size_t>& v, size_t x) { return std::find(v.begin(), v.end(), x) != v.end(); }

// Tries drawn from those behind the first `from`, until there are as many as a working shows.
void fill(const Search& s, size_t from, Rng& r, std::vector<size_t>& shown) {
  if (s.tries.size() < from + kTriesShown)
    fail("a search among {} tries cannot show {}", s.tries.size(), kTriesShown);
  while (shown.size() < kTriesShown)
    if (const size_t i = from + r.below(s.tries.size() - from); !has(shown, i)) shown.push_back(i);
}

}  // namespace

std::string found_steps(const Search& s, Rng& r, std::string_view seen) {
  std::vector<size_t> shown;
  for (size_t i = 0; i < s.tries.size() && shown.empty(); ++i)
    if (s.tries[i].fits && seen.find(s.tries[i].text) != seen.npos) shown.push_back(i);
  const bool known = !shown.empty();
  if (!has(shown, 0)) shown.push_back(0);
  fill(s, 1, r, shown);
  const size_t first = known ? 1 : 0;  // the others in any order
  for (size_t i = shown.size(); i > first + 1; --i) std::swap(shown[i - 1], shown[first + r.below(i - first)]);
  return written(s, shown);
}

std::string missed_steps(const Search& s, Rng& r) {
  std::vector<size_t> shown;
  do {
    shown.clear();
    fill(s, 1, r, shown);
  } while (std::none_of(shown.begin(), shown.end(), [&](size_t i) { return s.tries[i].fits; }));
  return written(s, shown);
}

}  // namespace quern
