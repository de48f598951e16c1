// Match lengths are carried from token to token.
#include "quern/infer/sampling/sampler_dry.h"

#include <algorithm>
#include <cmath>

#include "quern/base/error.h"

namespace quern::infer {
namespace {

constexpr double kMax = 1e4;                 // a penalty from which a token is as good as banned
constexpr std::ptrdiff_t kMaxPlaces = 2048;  // of one token that are followed, the newest

}  // namespace

// Whether a breaker ends within this token's text; it may have begun in those before.
bool DryPenalties::breaks(int32_t token) {
  if (!o_.text || o_.breakers.empty()) return false;
  const size_t before = tail_.size();
  tail_ += o_.text(token);
  bool found = false;
  size_t longest = 1;
  for (const std::string& b : o_.breakers) {
    longest = std::max(longest, b.size());
    for (size_t at = tail_.find(b); at != tail_.npos && !found; at = tail_.find(b, at + 1))
      found = at + b.size() > before;
  }
  if (tail_.size() >= longest) tail_.erase(0, tail_.size() - (longest - 1));
  return found;
}

void DryPenalties::push(int32_t token) {
  const auto now = static_cast<int64_t>(tokens_.size());
  tokens_.push_back(token);
  before_.swap(places_), places_.clear();
  if (breaks(token)) return;
  std::vector<int64_t>& stood = where_[token];
  const int64_t from = o_.last_n < 0 ? 0 : std::max<int64_t>(0, now + 1 - o_.last_n);
  auto previous = before_.begin();
  auto at = std::lower_bound(stood.begin(), stood.end(), from);
  if (stood.end() - at > kMaxPlaces) at = stood.end() - kMaxPlaces;
  for (; at != stood.end(); ++at) {
    while (previous != before_.end() && previous->at + 1 < *at) ++previous;
    const bool goes_on = previous != before_.end() && previous->at + 1 == *at;
    places_.push_back({*at, std::min(goes_on ? previous->length + 1 : 1, *at - from + 1)});
  }
  stood.push_back(now);
}

std::unordered_map<int32_t, double> DryPenalties::penalties() const {
  std::unordered_map<int32_t, int64_t> longest;
  for (const Occurrence& p : places_)
    if (p.length >= o_.allowed_length) {
      int64_t& l = longest[tokens_[static_cast<size_t>(p.at + 1)]];
      l = std::max(l, p.length);
    }
  std::unordered_map<int32_t, double> out;
  for (const auto& [token, length] : longest)
    out[token] = std::min(kMax, o_.multiplier * std::pow(o_.base, static_cast<double>(length - o_.allowed_length)));
  return out;
}

}  // namespace quern::infer
