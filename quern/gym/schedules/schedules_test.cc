// The day is painted minute by minute from the question; every start is judged by it.
#include <gtest/gtest.h>

#include "quern/gym/verifier_checks.h"

namespace quern::gym {
namespace {

int minute(const std::string& text) {
  static const std::regex clock("(\\d\\d?):(\\d\\d)");
  std::smatch m;
  if (!std::regex_match(text, m, clock) || std::stoi(m[1]) > 23 || std::stoi(m[2]) > 59) return -1;
  return 60 * std::stoi(m[1]) + std::stoi(m[2]);
}

bool is_free(const Problem& p, int from, int to) {
  static const std::regex times("(\\d+:\\d+)-(\\d+:\\d+)"), length("meeting of (\\d+) minutes");
  const size_t begin = p.question.find("busy."), end = p.question.find("Give a time");
  const std::string said = p.question.substr(begin, end - begin);
  std::vector<char> busy(24 * 60, 0);
  for (std::sregex_iterator i(said.begin(), said.end(), times), last; i != last; ++i)
    for (int t = minute((*i)[1]); t < minute((*i)[2]); ++t) busy[static_cast<size_t>(t)] = 1;
  std::smatch m;
  if (!std::regex_search(p.question, m, length) || to - from != std::stoi(m[1]) || from < 480 || to > 1080)
    return false;
  for (int t = from; t < to; ++t)
    if (busy[static_cast<size_t>(t)]) return false;
  return true;
}

bool fits(const Problem& p, std::string given) {
  if (const size_t to = given.find(" to "); to != given.npos) given.replace(to, 4, "-");
  std::erase(given, ' ');
  const size_t dash = given.find('-');
  if (dash == given.npos) return false;
  const int from = minute(given.substr(0, dash)), to = minute(given.substr(dash + 1));
  return from >= 0 && to >= 0 && is_free(p, from, to);
}

TEST(Schedules, AreFree) { check_verifier("schedules", fits); }
TEST(Schedules, HasTheProperties) { check_environment("schedules", {.wrong = 1}); }  // another's time may fit

TEST(Schedules, JudgesEveryStart) {
  const NamedEnvironment& e = plugin_environments().find("schedules");
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const Problem p = e.generate(seed, static_cast<int64_t>(seed % 10));
    const int64_t minutes = p.facts.at("minutes").as_int();
    int right = 0;
    for (int from = 450; from < 1100; from += 5) {
      const int to = from + static_cast<int>(minutes);
      const bool free = is_free(p, from, to);
      EXPECT_EQ(e.verify(p, fmt::format("{:02}:{:02} to {}:{:02}", from / 60, from % 60, to / 60, to % 60)).reward,
                free ? 1 : 0);
      right += free ? 1 : 0;
    }
    EXPECT_GT(right, 0);
    EXPECT_LT(right, 121);
  }
}

}  // namespace
}  // namespace quern::gym
