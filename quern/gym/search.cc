// Generates trials and writes them down.
#include "quern/gym/search.h"

#include <algorithm>
#include <cctype>

#include "quern/base/error.h"

namespace quern::gym {
namespace {

// Whether `what` stands in `text` as a whole: "3-7: 1 road" is no part of "43-7: 1 roads".
bool stands_in(std::string_view text, std::string_view what) {
  auto inner = [&](size_t i) {
    return i < text.size() && (std::isalnum(static_cast<unsigned char>(text[i])) || text[i] == '-');
  };
  for (size_t at = text.find(what); at != text.npos; at = text.find(what, at + 1))
    if (!(at > 0 && inner(at - 1)) && !inner(at + what.size())) return true;
  return false;
}

}  // namespace

SearchWorking search_working(const Search& s, Rng& r, SearchEnd end, std::string_view seen) {
  const size_t n = s.tries.size();
  if (n <= kTrialsShown) fail("a search among {} trials: expected more than {}", n, kTrialsShown);
  std::vector<size_t> shown;
  auto has = [&](size_t x) { return std::find(shown.begin(), shown.end(), x) != shown.end(); };
  SearchWorking w;
  size_t known = n;  // the best that was seen
  for (size_t i = 0; i < n && known == n && !seen.empty(); ++i)
    if (stands_in(seen, s.tries[i].text) || stands_in(seen, s.tries[i].claimed)) known = i;
  if (known < n) shown.push_back(known), w.steps += s.tries[known].claimed + ". ";
  const size_t fresh = shown.size();
  if (end == SearchEnd::finds && !has(0)) shown.push_back(0);
  while (shown.size() < kTrialsShown)
    if (const size_t i = 1 + r.below(n - 1); !has(i)) shown.push_back(i);
  for (size_t i = shown.size(); i > fresh + 1; --i) std::swap(shown[i - 1], shown[fresh + r.below(i - fresh)]);
  for (size_t k = fresh; k < shown.size(); ++k) w.steps += s.tries[shown[k]].text + ". ";
  const Trial& best = s.tries[*std::min_element(shown.begin(), shown.end())];
  w.steps += "Best: " + best.claimed + ".", w.answer = best.result;
  return w;
}

}  // namespace quern::gym
