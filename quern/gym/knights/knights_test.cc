// Every choice of knights is tried against what the people say: one alone is possible.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "quern/gym/verifier_checks.h"

namespace quern::gym {
namespace {

struct Statement {
  std::string who, of, with, kind;
};

std::multiset<std::string> only_solution(const std::string& question) {
  static const std::regex one("(\\w+) says: (\\w+) is a (knight|knave)\\.");
  static const std::regex two("(\\w+) says: (\\w+) and (\\w+) are of (the same kind|different kinds)\\.");
  std::vector<Statement> all;
  for (std::sregex_iterator i(question.begin(), question.end(), one), end; i != end; ++i)
    all.push_back({(*i)[1], (*i)[2], "", (*i)[3]});
  for (std::sregex_iterator i(question.begin(), question.end(), two), end; i != end; ++i)
    all.push_back({(*i)[1], (*i)[2], (*i)[3] == "I" ? (*i)[1] : (*i)[3], (*i)[4]});
  std::map<std::string, size_t> place;
  for (const Statement& s : all) place.emplace(s.who, place.size());
  std::vector<uint32_t> found;
  for (uint32_t bits = 0; bits < 1u << place.size(); ++bits) {
    const auto knight = [&](const std::string& name) { return (bits >> place.at(name) & 1) != 0; };
    if (std::ranges::all_of(all, [&](const Statement& s) {
          const bool holds = s.with.empty() ? knight(s.of) == (s.kind == "knight")
                                            : (knight(s.of) == knight(s.with)) == (s.kind == "the same kind");
          return holds == knight(s.who);
        }))
      found.push_back(bits);
  }
  std::multiset<std::string> names;
  if (found.size() != 1) return names;
  for (const auto& [name, at] : place)
    if (found[0] >> at & 1) names.insert(plain_answer_words(name)[0]);
  if (names.empty()) names.insert("none");
  return names;
}

TEST(Knights, HaveOneSolution) {
  std::string question;
  std::multiset<std::string> found;
  const auto right = [&](const Problem& p, const std::string& given) {
    if (p.question != question) question = p.question, found = only_solution(question);
    const auto words = plain_answer_words(given);
    return !found.empty() && std::multiset<std::string>(words.begin(), words.end()) == found;
  };
  check_verifier("knights", right, {.seeds = 200, .difficulties = {0, 1, 2, 3, 5, 8}});
}
TEST(Knights, HasTheProperties) { check_environment("knights", {.seeds = 100}); }

}  // namespace
}  // namespace quern::gym
