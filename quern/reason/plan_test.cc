// Plans as users write them.
#include "quern/reason/plan.h"

#include <gtest/gtest.h>

#include "quern/base/error.h"
#include "quern/base/test_message.h"

namespace quern::reason {
namespace {

TEST(Plan, IsReadAndNamed) {
  const ThinkPlan p = parse_plan("mrsa:16x4x2,beta=2048,tau=512,seed=9");
  EXPECT_EQ(p.n, 16);
  EXPECT_EQ(p.c, 4);
  EXPECT_EQ(p.t, 2);
  EXPECT_EQ(p.beta, 2048);
  EXPECT_EQ(p.tau, 512);
  EXPECT_EQ(p.seed, 9u);
  for (const char* name :
       {"single", "vote:8", "best:4", "rsa:16x4x10", "mrsa:8x4x2", "delethink:5", "pacore:4x4x1", "hybrid:4x2x3"})
    EXPECT_EQ(parse_plan(name).name(), name);
}

TEST(Plan, FillsInItsBudgets) {
  const ThinkPlan m = resolved(parse_plan("mrsa:8x4x2"), 1000), r = resolved(parse_plan("rsa:8x4x2"), 1000);
  EXPECT_EQ(m.beta, 1000);
  EXPECT_EQ(m.tau, 250);
  EXPECT_EQ(m.final, 1000);
  EXPECT_EQ(r.tau, 1000);
  EXPECT_EQ(resolved(parse_plan("mrsa:8x4x2,beta=64,tau=16,final=128"), 1000).final, 128);
}

TEST(Plan, MistakesAreNamed) {
  for (auto [text, word] : {std::pair{"mrsa:16x4", "16x4x2"},
                            {"mrs:1x1x1", "mrsa"},
                            {"vote:x", "N"},
                            {"vote:0", "N = 0"},
                            {"mrsa:2x4x1", "C = 4"},
                            {"mrsa:4x2x99", "T = 99"},
                            {"vote:2,bet=3", "beta"},
                            {"single:3", "sizes"},
                            {"vote:4,beta=10,tau=11", "tau"}})
    EXPECT_TRUE(message_of([&] { parse_plan(text); }).find(word) != std::string::npos)
        << text << ": " << message_of([&] { parse_plan(text); });
  EXPECT_THROW(resolved(parse_plan("mrsa:4x2x1,tau=100"), 50), Error);
}

}  // namespace
}  // namespace quern::reason
