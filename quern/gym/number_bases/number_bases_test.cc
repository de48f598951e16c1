// Numbers are read with the standard library and written again.
#include "quern/gym/answer_checks.h"
#include "quern/gym/check_environment.h"

namespace quern::gym {
namespace {

std::string written(uint64_t v, uint64_t base) {
  std::string s;
  for (; v > 0 || s.empty(); v /= base) s.insert(0, 1, "0123456789abcdef"[v % base]);
  return s;
}

uint64_t number(const std::string& digits, const std::string& base) {
  size_t used = 0;
  const uint64_t v = std::stoull(digits, &used, std::stoi(base));
  EXPECT_EQ(used, digits.size());
  return v;
}

TEST(NumberBases, AreRight) {
  static const std::regex conversion("The number (\\w+) is written in base (\\d+)\\. Write it in base (\\d+)\\..*"),
      addition("The numbers (\\w+) and (\\w+) are written in base (\\d+)\\. Write their sum in base (\\d+)\\..*");
  each_generated("number_bases", [](const Problem& p) {
    std::smatch m;
    uint64_t value = 0, base = 0;
    if (std::regex_match(p.question, m, conversion)) {
      value = number(m[1], m[2]), base = std::stoull(m[3]);
      EXPECT_NE(m[2], m[3]);
    } else {
      ASSERT_TRUE(std::regex_match(p.question, m, addition));
      value = number(m[1], m[3]) + number(m[2], m[3]), base = std::stoull(m[4]);
      EXPECT_EQ(m[3], m[4]);
    }
    EXPECT_EQ(p.answer, written(value, base));
    EXPECT_EQ(p.question.find("above 9") != std::string::npos, base > 10 ||
                                                                   p.question.find("base 12") != p.question.npos ||
                                                                   p.question.find("base 16") != p.question.npos);
    const NamedEnvironment& e = plugin_environments().find("number_bases");
    EXPECT_EQ(e.verify(p, "00" + p.answer).reward, 1);
    EXPECT_EQ(e.verify(p, "0x" + p.answer).reward, base == 16 ? 1 : 0);
    EXPECT_EQ(e.verify(p, written(value + 1, base)).reward, 0);
    EXPECT_EQ(e.verify(p, p.answer + "g").reason, fmt::format("the answer is not one number in base {}", base));
    std::string upper = p.answer;
    for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    EXPECT_EQ(e.verify(p, "Answer: " + upper + ".").reward, 1);
  });
}

TEST(NumberBases, RefusesMutations) {
  check_mutations("number_bases", [](const Problem& p, const std::string& a) {
    const bool hex = p.facts.at("base").as_int() == 16;
    return std::regex_match(a, std::regex((hex ? "(0x)?0*" : "0*") + p.answer));
  });
}

TEST(NumberBases, HasTheProperties) { check_environment("number_bases"); }

}  // namespace
}  // namespace quern::gym
