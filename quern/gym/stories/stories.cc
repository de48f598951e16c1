// Environment `stories`: who has how many after d + 1 changes; from difficulty 3 on, where a thing is or was before,
// after 2 d - 2 moves.
#include "quern/base/error.h"
#include "quern/gym/environment_registry.h"
#include "quern/gym/problem_words.h"

namespace quern::gym {
namespace {

std::string joined(const std::vector<std::string>& v) { return fmt::format("{}", fmt::join(v, ", ")); }

Problem counting(Rng& r, int64_t d) {
  const std::vector<std::string> who = several(r, kPeople, 3);
  const auto thing = pick(r, kThings);
  int64_t have[3] = {between(r, 2, 12), between(r, 2, 12), between(r, 2, 12)};
  const int people = d == 0 ? 1 : d == 1 ? 2 : 3;
  std::string text, steps;
  Problem p;
  for (int i = 0; i < people; ++i) {
    text += fmt::format("{} has {} {}s. ", who[static_cast<size_t>(i)], have[i], thing);
    p.key += fmt::format("{} ", have[i]);
  }
  for (int64_t turn = 0; turn <= d; ++turn) {
    const size_t a = r.below(static_cast<uint64_t>(people)), b = (a + 1) % static_cast<size_t>(people);
    const int64_t n = have[a] > 1 ? between(r, 1, std::min<int64_t>(have[a] - 1, 6)) : 0;
    if (people > 1 && n > 0) {
      text += fmt::format("{} gives {} {}s to {}. ", who[a], n, thing, who[b]);
      steps += fmt::format("{}: {} - {} = {}. {}: {} + {} = {}. ", who[a], have[a], n, have[a] - n, who[b], have[b],
                           n, have[b] + n);
      have[a] -= n, have[b] += n;
      p.key += fmt::format("{} gives {} ", a, n);
    } else {
      const int64_t found = between(r, 2, 9);
      text += fmt::format("{} finds {} more. ", who[a], found);
      steps += fmt::format("{}: {} + {} = {}. ", who[a], have[a], found, have[a] + found);
      have[a] += found;
      p.key += fmt::format("{} finds {} ", a, found);
    }
  }
  const size_t asked = r.below(static_cast<uint64_t>(people));
  steps.pop_back();
  p.question = fmt::format("{}How many {}s does {} have now?", text, thing, who[asked]);
  p.steps = steps;
  p.answer = fmt::format("{} {}s", have[asked], thing);
  return p;
}

Problem finding(Rng& r, int64_t d) {
  const std::vector<std::string> who = several(r, kPeople, 3);
  const std::vector<std::string> things = several(r, kThings, 2);
  const size_t moves = static_cast<size_t>(2 * d - 2);
  std::vector<std::string> seen[2];
  std::string text;
  Problem p;
  for (size_t k = 0; k < moves; ++k) {
    const size_t which = k < 2 ? k : r.below(2);
    std::string place(pick(r, kPlaces));
    while (!seen[which].empty() && seen[which].back() == place) place = pick(r, kPlaces);
    const std::string& name = who[r.below(3)];
    text += seen[which].empty() ? fmt::format("{} puts the {} in the {}. ", name, things[which], place)
                                : fmt::format("{} takes the {} to the {}. ", name, things[which], place);
    seen[which].push_back(place);
    p.key += things[which] + " " + place + " ";
  }
  const size_t asked = seen[0].size() >= seen[1].size() ? 0 : 1;
  const std::vector<std::string>& way = seen[asked];
  p.steps = fmt::format("The {} was in: {}.", things[asked], joined(way));
  if (d == 3) {
    p.question = fmt::format("{}Where is the {} now?", text, things[asked]);
    p.answer = "in the " + way.back();
  } else {
    p.question = fmt::format("{}Where was the {} before it was where it is now?", text, things[asked]);
    p.answer = "in the " + way[way.size() - 2];
  }
  return p;
}

Problem stories(Rng& r, int64_t d) { return d <= 2 ? counting(r, d) : finding(r, d); }

class Stories : public Environment {
 public:
  Problem generate(Rng& r, int64_t difficulty) const override { return stories(r, difficulty); }
};

}  // namespace

void register_stories(EnvironmentRegistry& r) {
  r.add("stories", "who has how many of a thing, or where it was, after changes", std::make_unique<Stories>(),
        "logic and constraints");
}

}  // namespace quern::gym
