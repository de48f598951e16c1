// Of small graphs every coloring is tried; the verifier accepts those without a road between equal colors.
#include "quern/gym/answer_checks.h"
#include "quern/gym/check_environment.h"

namespace quern::gym {
namespace {

const std::vector<std::string> kNames = {"red", "green", "blue", "yellow"};

bool proper(const Problem& p, const std::vector<std::string>& colors) {
  const auto n = numbers_of(p.question, "numbered 1 to (\\d+)").at(0)[0];
  const size_t known = p.question.find("yellow") != std::string::npos ? 4 : 3;
  if (std::ssize(colors) != n) return false;
  for (const std::string& c : colors)
    if (std::find(kNames.begin(), kNames.end(), c) - kNames.begin() >= static_cast<std::ptrdiff_t>(known))
      return false;
  for (const auto& v : numbers_of(p.question, "(\\d+)-(\\d+)"))
    if (colors.at(static_cast<size_t>(v[0]) - 1) == colors.at(static_cast<size_t>(v[1]) - 1)) return false;
  return true;
}

std::vector<std::string> listed(const std::string& text) {
  static const std::regex between("[,; ]");
  std::vector<std::string> out;
  for (std::sregex_token_iterator i(text.begin(), text.end(), between, -1), end; i != end; ++i)
    if (i->length() > 0) out.push_back(i->str());
  return out;
}

TEST(Coloring, AreRight) {
  each_generated("coloring", [](const Problem& p) { EXPECT_TRUE(proper(p, listed(p.answer))); });
}

TEST(Coloring, AcceptsEveryColoring) {
  const NamedEnvironment& e = plugin_environments().find("coloring");
  for (int64_t d : {0, 1, 2})
    for (uint64_t seed = 0; seed < 20; ++seed) {
      const Problem p = e.generate(seed, d);
      size_t all = 1;
      for (int64_t i = 0; i < d + 4; ++i) all *= 3;
      int right = 0;
      for (size_t code = 0; code < all; ++code) {
        std::vector<std::string> colors;
        for (size_t i = 0, left = code; i < static_cast<size_t>(d) + 4; ++i, left /= 3)
          colors.push_back(kNames[left % 3]);
        const Verdict v = e.verify(p, fmt::format("Answer: {}.", fmt::join(colors, "; ")));
        EXPECT_EQ(v.reward, proper(p, colors) ? 1 : 0) << p.question << v.reason;
        right += v.reward == 1 ? 1 : 0;
      }
      EXPECT_EQ(right % 6, 0);  // the names of three colors can be exchanged
      EXPECT_GT(right, 0);
    }
}

TEST(Coloring, SaysWhatIsWrong) {
  const NamedEnvironment& e = plugin_environments().find("coloring");
  const Problem p = e.generate(1, 0);
  const auto road = numbers_of(p.question, "join (\\d+)-(\\d+)").at(0);
  EXPECT_EQ(e.verify(p, "red, red, red, red").reason, fmt::format("{} and {} have one color", road[0], road[1]));
  EXPECT_EQ(e.verify(p, "red, green").reason, "2 colors for 4 places");
  EXPECT_EQ(e.verify(p, "red, green, blue, black").reason, "the answer is not a list of the colors");
  EXPECT_EQ(e.verify(p, "red, green, blue, yellow").reward, 0);
}

TEST(Coloring, RefusesMutations) {
  check_mutations("coloring", [](const Problem& p, const std::string& a) { return proper(p, listed(a)); });
}

TEST(Coloring, HasTheProperties) { check_environment("coloring", {.several_right = true}); }

}  // namespace
}  // namespace quern::gym
