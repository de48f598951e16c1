#include "quern/data/curriculum.h"

#include <array>
#include <string_view>

#include <fmt/format.h>

#include "quern/base/rng.h"

namespace quern::data {
namespace {

using Words = std::array<std::string_view, 8>;
constexpr Words kNames = {"Ana", "Ben", "Cleo", "Dov", "Ema", "Finn", "Gia", "Hugo"};
constexpr Words kAnimals = {"dog", "cat", "hen", "goat", "fox", "owl", "mouse", "pony"};
constexpr Words kPlaces = {"mill", "river", "garden", "market", "forest", "hill", "barn", "bridge"};
constexpr Words kThings = {"apple", "lamp", "key", "book", "drum", "coat", "bell", "stone"};
constexpr Words kColors = {"red", "blue", "green", "yellow", "white", "black", "brown", "golden"};
constexpr Words kFeelings = {"glad", "proud", "calm", "sleepy", "brave", "curious", "hungry", "kind"};

std::string_view pick(Rng& r, const Words& w) { return w[r.below(w.size())]; }

bool held_out(std::string_view what) {
  uint64_t h = 0;
  for (unsigned char c : what) h = mix64(h * 31 + c + 1);
  return h % 10 == 0;
}

// Draws until what is said falls into the split; make(rng, what) returns the text and says in `what` what it tells.
template <class F>
std::string draw(Split split, uint64_t kind, uint64_t index, F&& make) {
  for (uint64_t attempt = 0;; ++attempt) {
    Rng rng(mix64(kind * 2 + (split == Split::held_out)) + attempt, index);
    std::string what, text = make(rng, what);
    if (held_out(what) == (split == Split::held_out)) return text;
  }
}

std::string story(Rng& r) {
  auto who = pick(r, kNames), friend_of = pick(r, kNames), animal = pick(r, kAnimals), place = pick(r, kPlaces);
  auto thing = pick(r, kThings), color = pick(r, kColors), feeling = pick(r, kFeelings);
  while (friend_of == who) friend_of = pick(r, kNames);
  switch (r.below(3)) {
    case 0:
      return fmt::format(
          "{0} had a {1} {2}. One day {0} lost the {2} near the {3}. The {4} found the {1} {2} and gave it back to "
          "{0}. {0} was {5}.",
          who, color, thing, place, animal, feeling);
    case 1:
      return fmt::format(
          "{0} and {1} went to the {2}. There they saw a {3} {4}. \"Look, a {3} {4}!\" said {1}. The {4} was {5}, "
          "and so were {0} and {1}.",
          who, friend_of, place, color, animal, feeling);
    default:
      return fmt::format(
          "At the {0} lived a {1} {2}. Every morning {3} brought the {2} a {4}. When {3} was away, {5} brought the "
          "{4}. The {2} was {6}.",
          place, color, animal, who, thing, friend_of, feeling);
  }
}

}  // namespace

std::string curriculum_story(Split split, uint64_t index) {
  return draw(split, 0, index, [](Rng& r, std::string& what) { return what = story(r); });
}

std::string curriculum_sum(Split split, uint64_t index) {
  return draw(split, 1, index, [](Rng& r, std::string& what) {
    uint64_t a = r.below(20), b = r.below(20);
    bool plus = r.below(2) == 0;
    what = fmt::format("{} and {}", a, b);  // a pair is held out in both directions
    return plus ? fmt::format("{} + {} = {}.", a, b, a + b) : fmt::format("{} - {} = {}.", a + b, b, a);
  });
}

std::string curriculum_text(Split split, uint64_t index) {
  return index % 3 == 2 ? curriculum_sum(split, index) : curriculum_story(split, index);
}

}  // namespace quern::data
