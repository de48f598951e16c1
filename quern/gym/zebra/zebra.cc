// Environment `zebra`: what belongs to which of 3 to 10 houses in a row, by clues. Each clue places one thing by another
// that is placed already, and the last thing of its sort has the house that is left, so there is one solution.
#include <array>

#include "quern/base/error.h"
#include "quern/gym/answer_verdicts.h"
#include "quern/gym/environment_registry.h"
#include "quern/gym/problem_words.h"

namespace quern::gym {
namespace {

constexpr int64_t kHardest = 28;
constexpr size_t kSorts = 4;
constexpr std::array<std::string_view, kSorts> kSortNames = {"person", "color", "pet", "drink"};
constexpr std::array<std::string_view, 10> kColors = {"red",   "blue", "green",  "white", "yellow",
                                                      "black", "pink", "purple", "brown", "orange"};
constexpr std::array<std::string_view, 10> kPets = {"cat",   "dog",    "bird",   "fish", "horse",
                                                    "mouse", "rabbit", "turtle", "goat", "zebra"};
constexpr std::array<std::string_view, 10> kDrinks = {"tea",  "milk",  "water", "juice",    "coffee",
                                                      "soda", "cocoa", "cider", "lemonade", "soup"};

struct HouseThing {
  std::string name;
  size_t sort;
  int64_t house;
};

std::vector<std::string> names_of(Rng& r, size_t sort, size_t n) {
  switch (sort) {
    case 0:
      return several(r, kPeople, n);
    case 1:
      return several(r, kColors, n);
    case 2:
      return several(r, kPets, n);
    default:
      return several(r, kDrinks, n);
  }
}

std::string clue(const HouseThing& x, const HouseThing& by) {
  const int64_t apart = x.house - by.house;
  const char* side = apart < 0 ? "left" : "right";
  if (apart == 0) return fmt::format("{} and {} belong to the same house.", x.name, by.name);
  if (std::abs(apart) == 1)
    return fmt::format("{} belongs to the house just to the {} of {}.", x.name, side, by.name);
  return fmt::format("{} belongs to the house {} places to the {} of {}.", x.name, std::abs(apart), side, by.name);
}

// Clues in the order in which they place things, and how they do.
std::vector<std::string> clues(Rng& r, const std::vector<HouseThing>& things, size_t n, std::string& steps) {
  std::vector<std::string> out;
  std::array<size_t, kSorts> placed = {};
  for (size_t i = 0; i < things.size(); ++i) {
    const HouseThing& x = things[i];
    if (++placed[x.sort] == n) {
      steps += fmt::format("{} house {} is left for {}.", i ? " Only" : "Only", x.house, x.name);
      continue;
    }
    out.push_back(i == 0 ? fmt::format("{} belongs to house {}.", x.name, x.house) : clue(x, things[r.below(i)]));
    steps += fmt::format("{}{} House {}: {}.", i ? " " : "", out.back(), x.house, x.name);
  }
  return out;
}

class Zebra : public Environment {
 public:
  Problem generate(Rng& r, int64_t difficulty) const override {
    const int64_t d = std::min(difficulty, kHardest);
    const auto n = static_cast<size_t>(3 + d / 4), sorts = static_cast<size_t>(std::min<int64_t>(2 + d / 2, kSorts));
    std::vector<HouseThing> things;
    std::vector<std::string> lists;
    std::string kinds;
    std::vector<std::vector<std::string>> in_order;
    for (size_t sort = 0; sort < sorts; ++sort) {
      in_order.push_back(names_of(r, sort, n));
      for (size_t i = 0; i < n; ++i) things.push_back({in_order[sort][i], sort, static_cast<int64_t>(i) + 1});
      std::vector<std::string> sorted = in_order[sort];
      std::ranges::sort(sorted);
      lists.push_back(fmt::format("{} ({})", kSortNames[sort], fmt::join(sorted, ", ")));
      kinds += fmt::format("{}one {}", sort == 0 ? "" : sort + 1 == sorts ? " and " : ", ", kSortNames[sort]);
    }
    shuffle(r, things);
    Problem p;
    std::vector<std::string> said = clues(r, things, n, p.steps);
    p.key = fmt::format("{}", fmt::join(said, " "));
    shuffle(r, said);
    const size_t asked = r.below(sorts);
    p.question = fmt::format(
        "There are {} houses in a row, numbered from left to right. To each belong {}: {}. {} Write the {} of each "
        "house, in order from house 1 to house {}.",
        n, kinds, fmt::join(lists, ", "), fmt::join(said, " "), kSortNames[asked], n);
    p.answer = fmt::format("{}", fmt::join(in_order[asked], ", "));
    return p;
  }

  Verdict verify(const Problem& p, std::string_view reply) const override { return judge_words(p, reply); }
  std::optional<int64_t> saturates_at() const override { return kHardest; }
};

}  // namespace

void register_zebra(EnvironmentRegistry& r) {
  r.add("zebra", "who and what belongs to which house in a row, by clues", std::make_unique<Zebra>(),
        "logic and constraints");
}

}  // namespace quern::gym
