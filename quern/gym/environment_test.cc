// The registry, the verifier that environments inherit, and the properties they owe: broken environments, each in one
// way, are found out; a sound one is not.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <limits>

#include "quern/base/error.h"
#include "quern/base/test_message.h"
#include "quern/gym/curriculum_problems.h"
#include "quern/gym/environment_registry.h"
#include "quern/gym/properties.h"

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

TEST(Environments, AreInGroups) {
  EnvironmentRegistry r;
  r.add("echo", "says", std::make_unique<Echo>());
  r.add("delta", "comes first", std::make_unique<Echo>(), "echoes");
  EXPECT_EQ(r.find("echo").group, "other");
  EXPECT_EQ(r.find("delta").group, "echoes");
  for (const NamedEnvironment& e : plugin_environments().environments())
    EXPECT_NE(std::ranges::find(kEnvironmentGroups, e.group), kEnvironmentGroups.end()) << e.name << ": " << e.group;
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

enum class Fault {
  none,
  answer_shown,
  no_key,
  other_problem,
  pays_all,
  never_right,
  throws,
  same,
  shrinks,
  past_end
};

struct Sums : Environment {
  explicit Sums(Fault f) : fault(f) {}
  Problem generate(Rng& r, int64_t d) const override {
    if (fault == Fault::throws && d == 5) fail("no sum at 5");
    if (fault == Fault::same) r = Rng(1);
    const int64_t terms =
        2 + (fault == Fault::shrinks ? 0 : std::min<int64_t>(d, fault == Fault::past_end ? 99 : 20));
    Problem p{.question = "What is 0"};
    int64_t sum = fault == Fault::other_problem ? calls++ : 0;
    for (int64_t i = 0; i < terms; ++i) {
      const auto n = static_cast<int64_t>(10 + r.below(90));
      sum += n, p.question += fmt::format(" + {}", n);
    }
    p.question += fault == Fault::answer_shown ? fmt::format("? Answer: {}", sum) : "?";
    p.answer = std::to_string(sum), p.steps = "Added up.";
    if (fault != Fault::no_key) p.key = p.question;
    return p;
  }
  Verdict verify(const Problem& p, std::string_view reply) const override {
    if (fault == Fault::pays_all) return {1, "fine"};
    if (fault == Fault::never_right) return {0, "no"};
    return Environment::verify(p, reply);
  }
  std::optional<int64_t> saturates_at() const override { return 20; }
  Fault fault;
  mutable std::atomic<int64_t> calls = 0;
};

PropertyReport report_of(Fault fault, const EnvironmentCheck& c = {.seeds = 40}) {
  EnvironmentRegistry r;
  r.add("sums", "sums", std::make_unique<Sums>(fault));
  return check_properties(r.find("sums"), c);
}

TEST(Properties, HoldForASoundEnvironment) {
  for (bool blank_only : {false, true}) {
    const PropertyReport r = report_of(Fault::none, {.seeds = 40, .blank_only = blank_only});
    EXPECT_EQ(r.violations, 0) << (r.first.empty() ? "" : r.first[0].property + r.first[0].detail);
    EXPECT_EQ(r.problems, 320);
    EXPECT_GE(r.generated, r.problems);
    EXPECT_GT(r.per_second(), 0);
  }
}

TEST(Properties, FindWhatIsBroken) {
  const std::pair<Fault, const char*> cases[] = {
      {Fault::answer_shown, "no question holds a marker of the answer"},
      {Fault::no_key, "a problem has a key"},
      {Fault::other_problem, "the same seed gives the same problem"},
      {Fault::pays_all, "a wrong reply earns too much"},
      {Fault::never_right, "the solution earns 1"},
      {Fault::throws, "no exception"},
      {Fault::same, "problems of a difficulty differ"},
      {Fault::shrinks, "problems get longer with the difficulty"},
      {Fault::past_end, "problems stay the same beyond the last difficulty"}};
  for (const auto& [fault, property] : cases) {
    const PropertyReport r = report_of(fault);
    ASSERT_GT(r.violations, 0) << property;
    EXPECT_LE(r.first.size(), kMaxViolationsKept);
    EXPECT_EQ(r.first[0].property, property);
  }
}

TEST(Properties, SayWhereTheyAreBroken) {
  const PropertyReport r = report_of(Fault::throws);
  EXPECT_EQ(r.first[0].difficulty, 5);
  EXPECT_EQ(r.first[0].detail, "environment 'sums' at difficulty 5, seed 0: generate: no sum at 5");
  EXPECT_EQ(r.problems, 280);  // of the seven other difficulties
  EXPECT_NE(report_of(Fault::pays_all).first[0].detail.find("earns 1: fine"), std::string::npos);
}

// Without knowing which answers are right, replies without one must still earn nothing.
TEST(Properties, BlankRepliesEarnNothing) {
  EXPECT_GT(report_of(Fault::pays_all, {.seeds = 10, .blank_only = true}).violations, 0);
}

}  // namespace
}  // namespace quern::gym
