// The walk is done again with complex numbers: turning left is multiplying by i.
#include <complex>
#include <map>

#include "quern/gym/answer_checks.h"
#include "quern/gym/check_environment.h"

namespace quern::gym {
namespace {

TEST(RobotWalk, EndsRight) {
  const NamedEnvironment& e = plugin_environments().find("robot_walk");
  using Point = std::complex<double>;
  const std::map<std::string, Point> facing = {
      {"north", {0, 1}}, {"east", {1, 0}}, {"south", {0, -1}}, {"west", {-1, 0}}};
  each_generated("robot_walk", [&](const Problem& p) {
    static const std::regex start("faces (\\w+)\\."), command("(forward|back|left|right|around)(?: (\\d+))?");
    std::smatch m;
    ASSERT_TRUE(std::regex_search(p.question, m, start));
    Point at = 0, way = facing.at(m[1]);
    std::string all = p.question.substr(p.question.find("It obeys: ") + 10);
    all = all.substr(0, all.find('.'));
    int64_t commands = 0;
    for (std::sregex_iterator i(all.begin(), all.end(), command), end; i != end; ++i, ++commands) {
      const std::string what = (*i)[1];
      if (what == "left") way *= Point(0, 1);
      if (what == "right") way *= Point(0, -1);
      if (what == "around") way = -way;
      if (what == "forward") at += way * std::stod((*i)[2]);
      if (what == "back") at -= way * std::stod((*i)[2]);
    }
    EXPECT_EQ(commands, p.difficulty + 3);
    const auto x = static_cast<int64_t>(at.real()), y = static_cast<int64_t>(at.imag());
    EXPECT_EQ(p.answer, fmt::format("({}, {})", x, y));
    EXPECT_EQ(e.verify(p, fmt::format("Answer: {} {}.", x, y)).reward, 1);
    EXPECT_EQ(e.verify(p, fmt::format("({},{})", x, y)).reward, 1);
    EXPECT_EQ(e.verify(p, fmt::format("({}, {})", y, x)).reward, x == y ? 1 : 0);
    EXPECT_EQ(e.verify(p, fmt::format("({}, {})", x, y + 1)).reward, 0);
  });
}

TEST(RobotWalk, RefusesMutations) {
  check_mutations("robot_walk",
                  [](const Problem& p, const std::string& a) { return read_integers(a) == read_integers(p.answer); });
}

TEST(RobotWalk, HasTheProperties) { check_environment("robot_walk"); }

}  // namespace
}  // namespace quern::gym
