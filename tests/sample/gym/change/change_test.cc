// The environment of the guide, found by its name as any other: the properties every environment owes, and what its
// verifier says.
#include <gtest/gtest.h>

#include "quern/base/error.h"
#include "quern/gym/check_environment.h"
#include "tests/sample/guide_blocks.h"

namespace quern::gym {
namespace {

const NamedEnvironment& change() { return plugin_environments().find("change"); }

TEST(Change, HasTheProperties) { check_environment("change", {.seeds = 300}); }

TEST(Change, AcceptsEveryOrderAndPaysPartly) {
  const Problem p = change().generate(1, 7);  // 72 to 81
  const int64_t amount = p.facts.at("amount").as_int();
  std::vector<std::string> ones(static_cast<size_t>(amount), "1");
  const Verdict poor = change().verify(p, fmt::format("Answer: {}", fmt::join(ones, " ")));
  EXPECT_GT(poor.reward, 0);
  EXPECT_LT(poor.reward, 0.3);
  EXPECT_NE(poor.reason.find("would do"), std::string::npos);
  const size_t comma = p.answer.find(", ");
  const std::string back = p.answer.substr(comma + 2) + " and " + p.answer.substr(0, comma);
  EXPECT_EQ(change().verify(p, back).reward, 1) << back;
}

TEST(Change, SaysWhatIsWrong) {
  const Problem p = change().generate(1, 7);
  const int64_t amount = p.facts.at("amount").as_int();
  EXPECT_EQ(change().verify(p, p.answer + ", 1").reason,
            fmt::format("the coins make {}, not {}", amount + 1, amount));
  EXPECT_EQ(change().verify(p, "Answer: 3").reason, "there is no coin of 3");
  EXPECT_EQ(change().verify(p, "Answer: 99999999999999999999").reward, 0);
  EXPECT_EQ(change().verify(p, "no idea").reason, "no coins in the answer");
}

TEST(Change, TheGuideShowsThisCode) { expect_shown("docs/gym/adding-an-environment.md", "gym/change", 5); }

}  // namespace
}  // namespace quern::gym
