// Moves are replayed on stacks read out of the question; the fewest are found by a breadth-first search.
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <queue>

#include "quern/gym/verifier_checks.h"

namespace quern::gym {
namespace {

using Stacks = std::array<std::vector<int>, 3>;

Stacks stacks_of(const std::string& question) {
  static const std::regex peg("peg ([ABC]): ([0-9 ]+|empty)");
  Stacks out;
  for (std::sregex_iterator i(question.begin(), question.end(), peg), end; i != end; ++i)
    for (const std::string& w : plain_answer_words((*i)[2]))
      if (w != "empty") out[static_cast<size_t>((*i)[1].str()[0] - 'A')].push_back(std::stoi(w));
  return out;
}

bool move(Stacks& s, size_t from, size_t to) {
  if (from == to || s[from].empty() || (!s[to].empty() && s[to].back() < s[from].back())) return false;
  s[to].push_back(s[from].back()), s[from].pop_back();
  return true;
}

size_t goal_of(const std::string& question) {
  const std::string before = "all disks to peg ";
  return static_cast<size_t>(question[question.find(before) + before.size()] - 'A');
}

bool done(const Stacks& s, size_t goal) { return s[(goal + 1) % 3].empty() && s[(goal + 2) % 3].empty(); }

int fewest_moves(const Stacks& start, size_t goal) {
  std::map<Stacks, int> distance = {{start, 0}};
  std::queue<Stacks> queue({start});
  while (!queue.empty()) {
    const Stacks s = queue.front();
    queue.pop();
    if (done(s, goal)) return distance[s];
    for (size_t from = 0; from < 3; ++from)
      for (size_t to = 0; to < 3; ++to)
        if (Stacks next = s; move(next, from, to) && distance.emplace(next, distance[s] + 1).second) queue.push(next);
  }
  return -1;
}

TEST(Hanoi, IsRight) {
  std::string question;
  int fewest = 0;
  const auto right = [&](const Problem& p, const std::string& given) {
    Stacks s = stacks_of(p.question);
    const size_t goal = goal_of(p.question);
    if (p.question != question) question = p.question, fewest = fewest_moves(s, goal);
    const auto words = plain_answer_words(given);
    for (const std::string& w : words)
      if (w.size() != 2 || w.find_first_not_of("abc") != w.npos ||
          !move(s, static_cast<size_t>(w[0] - 'a'), static_cast<size_t>(w[1] - 'a')))
        return false;
    return done(s, goal) && static_cast<int>(words.size()) == fewest;
  };
  check_verifier("hanoi", right, {.seeds = 200, .difficulties = {0, 1, 2, 3, 4}});
}
TEST(Hanoi, HasTheProperties) { check_environment("hanoi", {.seeds = 100, .wrong = 1}); }  // moves of another may do

TEST(Hanoi, SaysWhatIsWrong) {
  Problem p;
  p.facts = Json::parse(R"({"pegs": [0, 0], "goal": 2, "fewest": 3})");
  const NamedEnvironment& e = plugin_environments().find("hanoi");
  EXPECT_EQ(e.verify(p, "ab ac bc").reward, 1);
  EXPECT_EQ(e.verify(p, "AC, CB, AC, BC").reason, "3 moves would do");
  EXPECT_EQ(e.verify(p, "ac ac").reason, "ac: onto a smaller disk");
  EXPECT_EQ(e.verify(p, "bc").reason, "bc: the peg is empty");
  EXPECT_EQ(e.verify(p, "ab").reason, "not all disks are at the goal");
  EXPECT_EQ(e.verify(p, "aa").reason, "'aa' is not a move");
}

}  // namespace
}  // namespace quern::gym
