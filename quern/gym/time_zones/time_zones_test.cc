// All durations of the question are added to its time, the first offset is taken away and the last one added.
#include <gtest/gtest.h>

#include "quern/gym/verifier_checks.h"

namespace quern::gym {
namespace {

int arrival(const std::string& q) {
  static const std::regex zone("UTC([+-])(\\d+):(\\d+)"), span("(\\d+) hours? (\\d+) minutes?"),
      start("at (\\d+):(\\d+) local time");
  std::vector<int> offsets;
  for (std::sregex_iterator i(q.begin(), q.end(), zone), end; i != end; ++i)
    offsets.push_back(((*i)[1] == "-" ? -1 : 1) * (60 * std::stoi((*i)[2]) + std::stoi((*i)[3])));
  std::smatch m;
  if (offsets.size() < 2 || !std::regex_search(q, m, start)) return -1;
  int t = 60 * std::stoi(m[1]) + std::stoi(m[2]) - offsets.front() + offsets.back();
  for (std::sregex_iterator i(q.begin(), q.end(), span), end; i != end; ++i)
    t += 60 * std::stoi((*i)[1]) + std::stoi((*i)[2]);
  return ((t % 1440) + 1440) % 1440;
}

bool is_arrival(const Problem& p, const std::string& given) {
  static const std::regex clock("(\\d\\d?):(\\d\\d)");
  std::smatch m;
  return std::regex_match(given, m, clock) && std::stoi(m[1]) < 24 && std::stoi(m[2]) < 60 &&
         60 * std::stoi(m[1]) + std::stoi(m[2]) == arrival(p.question);
}

TEST(TimeZones, AreRight) { check_verifier("time_zones", is_arrival); }
TEST(TimeZones, HasTheProperties) { check_environment("time_zones"); }

TEST(TimeZones, AcceptALeadingZero) {
  const Problem p{.answer = "9:05"};
  const NamedEnvironment& e = plugin_environments().find("time_zones");
  EXPECT_EQ(e.verify(p, "09:05").reward, 1);
  for (const char* wrong : {"9:5", "21:05", "24:00", "9:05 pm", "0905", ":05", "-9:05"})
    EXPECT_EQ(e.verify(p, wrong).reward, 0) << wrong;
}

}  // namespace
}  // namespace quern::gym
