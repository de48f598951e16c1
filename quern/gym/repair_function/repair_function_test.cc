// The function as given earns nothing, its repair everything, and what repairs a part of it a part.
#include <gtest/gtest.h>

#include <regex>

#include "quern/code/code_value.h"
#include "quern/gym/check_environment.h"

namespace quern::gym {
namespace {

std::string broken_in(const std::string& question) {
  static const std::regex part("(f\\((x|x, k)\\) = .*)\\. It has an error: ");
  std::smatch m;
  return std::regex_search(question, m, part) ? m[1].str() : "";
}

TEST(RepairFunction, EarnsNothingAsGiven) {
  const NamedEnvironment& e = plugin_environments().find("repair_function");
  each_generated("repair_function", [&](const Problem& p) {
    const std::string broken = broken_in(p.question);
    const Verdict v = e.verify(p, broken);
    EXPECT_EQ(v.reward, 0) << broken;
    EXPECT_EQ(
        v.reason.substr(0, v.reason.find(" pass")),
        fmt::format("{} of {} tests", p.facts.at("passed_before").as_int(), p.facts.at("tests").as_array().size()));
  });
}

TEST(RepairFunction, EarnsItsShare) {
  Problem p{.kind = "repair_function"};
  std::vector<code::CodeTest> tests;
  for (int64_t n : {0, 1, 2, 3, 4}) tests.push_back({{code::CodeValue::of(n)}, code::CodeValue::of(n * n)});
  p.facts.set("tests", to_json(tests)), p.facts.set("passed_before", 2);
  const NamedEnvironment& e = plugin_environments().find("repair_function");
  EXPECT_EQ(e.verify(p, "x * x").reward, 1);
  EXPECT_EQ(e.verify(p, "x").reward, 0);
  EXPECT_EQ(e.verify(p, "7").reward, 0);
  EXPECT_NEAR(e.verify(p, "if x > 3 then 0 else x * x").reward, 2.0 / 3, 1e-9);
  EXPECT_EQ(e.verify(p, "x *").reward, 0);
}

TEST(RepairFunction, HasTheProperties) { check_environment("repair_function", {.several_right = true}); }

}  // namespace
}  // namespace quern::gym
