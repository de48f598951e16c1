// Environment `knights`: d + 3 people of whom each speaks the truth or lies, with one statement each. They follow one
// from the other in a circle, so there is one solution.
#include "quern/base/error.h"
#include "quern/gym/answer_verdicts.h"
#include "quern/gym/environment_registry.h"
#include "quern/gym/problem_words.h"

namespace quern::gym {
namespace {

// Beyond the names there are, people are numbered: Ana, …, Ana2.
std::vector<std::string> islanders(Rng& r, size_t n) {
  if (n <= kPeople.size()) return several(r, kPeople, n);
  std::vector<std::string> all;
  for (size_t i = 0; i < n; ++i)
    all.push_back(i < kPeople.size() ? std::string(kPeople[i])
                                     : fmt::format("{}{}", kPeople[i % kPeople.size()], i / kPeople.size() + 1));
  shuffle(r, all);
  return all;
}

const char* kind(bool knight) { return knight ? "knight" : "knave"; }
const char* same(bool same_kind) { return same_kind ? "the same kind" : "different kinds"; }

struct Island {
  std::vector<std::string> names, said = {};
  std::vector<char> is_knight = {};
  std::string steps = {};
};

// Whoever stands at i + 1 is settled by the statement of i. The first speaks of himself and the second: "we are of one
// kind" makes the second a knight, true or false, "of different kinds" a knave.
Island island(Rng& r, size_t n, int64_t difficulty) {
  Island s{.names = islanders(r, n)};
  for (size_t i = 0; i < n; ++i) s.is_knight.push_back(r.below(2) == 1);
  const auto& names = s.names;
  for (size_t i = 0; i < n; ++i) {
    const size_t of = (i + 1) % n;
    const bool truth = s.is_knight[i] != 0, of_knight = s.is_knight[of] != 0;
    if (i == 0) {
      s.said.push_back(fmt::format("{} says: {} and I are of {}.", names[0], names[1], same(of_knight)));
      s.steps = fmt::format("{}'s statement, true or false, makes {} a {}.", names[0], names[1], kind(of_knight));
    } else if (difficulty >= 2 && i >= 2 && r.below(2) == 1) {
      const size_t with = 1 + r.below(i - 1);  // known already, and not the speaker
      const bool claim = ((s.is_knight[with] != 0) == of_knight) == truth;
      s.said.push_back(fmt::format("{} says: {} and {} are of {}.", names[i], names[with], names[of], same(claim)));
      s.steps += fmt::format(" {} is a {}, so {} and {} are of {}: {} is a {}.", names[i], kind(truth), names[with],
                             names[of], same(claim == truth), names[of], kind(of_knight));
    } else {
      s.said.push_back(fmt::format("{} says: {} is a {}.", names[i], names[of], kind(of_knight == truth)));
      s.steps += fmt::format(" {} is a {}, so {} is a {}.", names[i], kind(truth), names[of], kind(of_knight));
    }
  }
  return s;
}

class Knights : public Environment {
 public:
  Problem generate(Rng& r, int64_t difficulty) const override {
    Island s = island(r, static_cast<size_t>(difficulty) + 3, difficulty);
    std::vector<std::string> knights;
    for (size_t i = 0; i < s.names.size(); ++i)
      if (s.is_knight[i]) knights.push_back(s.names[i]);
    Problem p{.key = fmt::format("{}", fmt::join(s.said, " "))};
    shuffle(r, s.said), shuffle(r, knights);
    p.question = fmt::format(
        "Knights always speak the truth, knaves always lie. Each of these people is a knight or a knave. {} Who are "
        "the knights? List them in any order, or write none.",
        fmt::join(s.said, " "));
    p.steps = s.steps;
    p.answer = knights.empty() ? "none" : fmt::format("{}", fmt::join(knights, ", "));
    return p;
  }

  Verdict verify(const Problem& p, std::string_view reply) const override { return judge_set(p, reply); }
};

}  // namespace

void register_knights(EnvironmentRegistry& r) {
  r.add("knights", "who speaks the truth and who lies, from what they say of each other", std::make_unique<Knights>(),
        "logic and constraints");
}

}  // namespace quern::gym
