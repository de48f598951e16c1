// The registry, and the verifier that environments inherit.
#include <gtest/gtest.h>

#include <limits>

#include "quern/base/error.h"
#include "quern/base/test_message.h"
#include "quern/gym/curriculum_problems.h"
#include "quern/gym/environment_registry.h"

namespace quern::gym {
namespace {

struct Echo : Environment {
  Problem generate(Rng& r, int64_t d) const override {
    const std::string n = fmt::format("{} {}", d, r.below(1000000));
    return {.question = "Say " + n + ".", .answer = n, .key = n};
  }
};

TEST(Environments, AreFoundByName) {
  EnvironmentRegistry r;
  r.add("echo", "says", std::make_unique<Echo>());
  r.add("delta", "comes first", std::make_unique<Echo>());
  ASSERT_EQ(r.environments().size(), 2u);
  EXPECT_EQ(r.environments()[0].name, "delta");
  EXPECT_EQ(r.find("echo").summary, "says");
  EXPECT_NE(message_of([&] { r.find("ecko"); }).find("did you mean 'echo'"), std::string::npos);
  for (std::string_view kind : problem_kinds()) EXPECT_EQ(plugin_environments().find(std::string(kind)).name, kind);
}

TEST(Environments, PoseProblemsByNameSeedAndDifficulty) {
  EnvironmentRegistry r;
  r.add("a", "", std::make_unique<Echo>());
  r.add("b", "", std::make_unique<Echo>());
  const NamedEnvironment &a = r.find("a"), &b = r.find("b");
  const Problem p = a.generate(1, 2);
  EXPECT_EQ(p.kind, "a");
  EXPECT_EQ(p.difficulty, 2);
  EXPECT_EQ(p.level, 0);
  EXPECT_EQ(p.question, a.generate(1, 2).question);
  EXPECT_NE(p.question, b.generate(1, 2).question);
  EXPECT_NE(p.question, a.generate(2, 2).question);
  EXPECT_NE(p.question, a.generate(1, 3).question);
  for (int64_t d : {int64_t{-1}, kMaxDifficulty + 1, std::numeric_limits<int64_t>::max()})
    EXPECT_NE(message_of([&] { a.generate(1, d); }).find("expected 0 to 10000"), std::string::npos);
}

TEST(Environments, PoseTheHardestProblems) {
  for (const NamedEnvironment& e : plugin_environments().environments()) {
    const Problem p = e.generate(1, kMaxDifficulty);
    if (e.environment->unavailable()) continue;
    EXPECT_EQ(e.verify(p, plain_form(p)).reward, 1) << e.name;
  }
}

TEST(Environments, CompareTheFinalAnswer) {
  const Echo e;
  const Problem p{.answer = "In the mill"};
  EXPECT_EQ(e.verify(p, "<think>\nAnswer: no\n</think>\n\nAnswer: in  the Mill.").reward, 1);
  EXPECT_EQ(e.verify(p, "").reason, "no answer");
  EXPECT_EQ(e.verify(p, "In the mill, or the barn").reward, 0);
  EXPECT_EQ(e.verify(p, "barn").reason, "expected 'In the mill'");
  EXPECT_EQ(e.verify({}, "Answer:").reward, 0);  // nothing is never right
}

}  // namespace
}  // namespace quern::gym
