#include "quern/data/curriculum.h"

#include <array>
#include <string_view>

#include <fmt/format.h>

#include "quern/base/rng.h"

namespace quern {
namespace {

using Words = std::array<std::string_view, 8>;
constexpr Words kNames = {"Ana", "Ben", "Cleo", "Dov", "Ema", "Finn", "Gia", "Hugo"};
constexpr Words kAnimals = {"dog", "cat", "hen", "goat", "fox", "owl", "mouse", "pony"};
constexpr Words kPlaces = {"mill", "river", "garden", "market", "forest", "hill", "barn", "bridge"};
constexpr Words kThings = {"apple", "lamp", "key", "book", "drum", "coat", "bell", "stone"};
constexpr Words kColours = {"red", "blue", "green", "yellow", "white", "black", "brown", "golden"};
constexpr Words kFeelings = {"glad", "proud", "calm", "sleepy", "brave", "curious", "hungry", "kind"};

// Choices made so far, hashed: which split a text belongs to depends on what it says alone.
class Chooser {
 public:
  explicit Chooser(Rng rng) : rng_(rng) {}
  uint64_t below(uint64_t n) {
    uint64_t c = rng_.below(n);
    hash_ = mix64(hash_ * 31 + c + 1);
    return c;
  }
  std::string_view pick(const Words& w) { return w[below(w.size())]; }
  bool held_out() const { return hash_ % 10 == 0; }

 private:
  Rng rng_;
  uint64_t hash_ = 0;
};

// Draws until the text falls into the split; make returns the text.
template <class F>
std::string draw(Split split, uint64_t kind, uint64_t index, F&& make) {
  for (uint64_t attempt = 0;; ++attempt) {
    Chooser c(Rng(mix64(kind * 2 + (split == Split::held_out)) + attempt, index));
    std::string text = make(c);
    if (c.held_out() == (split == Split::held_out)) return text;
  }
}

std::string story(Chooser& c) {
  auto who = c.pick(kNames), friend_of = c.pick(kNames), animal = c.pick(kAnimals), place = c.pick(kPlaces);
  auto thing = c.pick(kThings), colour = c.pick(kColours), feeling = c.pick(kFeelings);
  while (friend_of == who) friend_of = c.pick(kNames);
  switch (c.below(3)) {
    case 0:
      return fmt::format("{0} had a {1} {2}. One day {0} lost the {2} near the {3}. The {4} found the {1} {2} and gave it back to {0}. {0} was {5}.",
                         who, colour, thing, place, animal, feeling);
    case 1:
      return fmt::format("{0} and {1} went to the {2}. There they saw a {3} {4}. \"Look, a {3} {4}!\" said {1}. The {4} was {5}, and so were {0} and {1}.",
                         who, friend_of, place, colour, animal, feeling);
    default:
      return fmt::format("At the {0} lived a {1} {2}. Every morning {3} brought the {2} a {4}. When {3} was away, {5} brought the {4}. The {2} was {6}.",
                         place, colour, animal, who, thing, friend_of, feeling);
  }
}

}  // namespace

std::string curriculum_story(Split split, uint64_t index) {
  return draw(split, 0, index, story);
}

std::string curriculum_sum(Split split, uint64_t index) {
  return draw(split, 1, index, [index](Chooser& c) {
    uint64_t a = c.below(20), b = c.below(20);
    bool plus = mix64(index) & 1;  // outside the hash: a pair is held out in both directions
    return plus ? fmt::format("{} + {} = {}.", a, b, a + b) : fmt::format("{} - {} = {}.", a + b, b, a);
  });
}

std::string curriculum_text(Split split, uint64_t index) {
  return index % 3 == 2 ? curriculum_sum(split, index) : curriculum_story(split, index);
}

}  // namespace quern
