// Vocabulary of the synthetic problems, and random choice from it.
#pragma once
#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "quern/base/rng.h"

namespace quern::gym {

constexpr std::array<std::string_view, 16> kPeople = {"Ana",  "Ben",  "Cleo", "Dov",  "Ema", "Finn", "Gia", "Hugo",
                                                      "Iris", "Jona", "Kai",  "Lena", "Mio", "Nora", "Oto", "Pia"};
constexpr std::array<std::string_view, 12> kThings = {"apple", "lamp", "key",   "book",   "drum",   "coat",
                                                      "bell",  "coin", "shell", "marble", "candle", "button"};
constexpr std::array<std::string_view, 10> kPlaces = {"mill",   "river", "garden", "market", "forest",
                                                      "harbor", "barn",  "bridge", "tower",  "cellar"};
constexpr std::array<std::string_view, 7> kWeekdays = {"Monday", "Tuesday",  "Wednesday", "Thursday",
                                                       "Friday", "Saturday", "Sunday"};
constexpr std::array<std::string_view, 12> kMonths = {"January",   "February", "March",    "April",
                                                      "May",       "June",     "July",     "August",
                                                      "September", "October",  "November", "December"};

template <class Words>
std::string_view pick(Rng& r, const Words& w) {
  return w[r.below(w.size())];
}
inline int64_t between(Rng& r, int64_t low, int64_t high) {
  return low + static_cast<int64_t>(r.below(static_cast<uint64_t>(high - low + 1)));
}
template <class T>
void shuffle(Rng& r, std::vector<T>& v) {
  for (size_t i = v.size(); i > 1; --i) std::swap(v[i - 1], v[r.below(i)]);
}
template <class Words>
std::vector<std::string> several(Rng& r, const Words& w, size_t n) {  // different ones
  std::vector<std::string> all(w.begin(), w.end());
  shuffle(r, all);
  all.resize(n);
  return all;
}

}  // namespace quern::gym
