// The controller and the estimate of levels, on simulated learners whose true curve is known.
#include "quern/gym/difficulty.h"

#include <gtest/gtest.h>

#include <cmath>

#include "quern/base/test_message.h"
#include "quern/gym/level_estimate.h"

namespace quern::gym {
namespace {

int64_t successes(const ResponseCurve& learner, int64_t difficulty, int64_t attempts, Rng& r) {
  int64_t n = 0;
  for (int64_t i = 0; i < attempts; ++i) n += r.uniform() < learner.success(static_cast<double>(difficulty));
  return n;
}

// Learners of levels from below 0 to 150 and slopes from 0.6 to 12.
ResponseCurve some_learner(Rng& r) {
  const double reach = r.uniform() < 0.1 ? 150 : 40;
  return {.level = -2 + reach * r.uniform(), .slope = std::exp(1 + 0.7 * (2 * r.uniform() - 1) * 2)};
}

// |estimate − level| ≤ 1.5 slopes after 40 groups of 16 attempts. Levels below 0 cannot be seen from there.
int64_t found(int64_t learners) {
  int64_t n = 0;
  for (int64_t i = 0; i < learners; ++i) {
    Rng r(static_cast<uint64_t>(i), 77);
    const ResponseCurve learner = some_learner(r);
    LevelEstimate e(static_cast<uint64_t>(i));
    for (int g = 0; g < 40; ++g) {
      const int64_t d = e.ask(r);
      e.observe(d, successes(learner, d, 16, r), 16);
    }
    n += std::abs(e.curve().level - learner.level) <= 1.5 * learner.slope;
  }
  return n;
}

TEST(LevelEstimate, FindsTheLevelOfSimulatedLearners) { EXPECT_GE(found(1000), 950); }

TEST(LevelEstimate, KnowsHowSureItIs) {
  Rng r(3);
  const ResponseCurve learner{.level = 25, .slope = 3};
  LevelEstimate e(5);
  const double before = e.level_deviation();
  int64_t inside = 0;
  for (int g = 0; g < 60; ++g) {
    const int64_t d = e.ask(r);
    e.observe(d, successes(learner, d, 16, r), 16);
    if (g >= 20) inside += std::abs(e.curve().level - 25) <= 3 * e.level_deviation();
  }
  EXPECT_LT(e.level_deviation(), 0.1 * before);
  EXPECT_GE(inside, 36);
}

TEST(LevelEstimate, GoesOnFromItsState) {
  Rng r(3), s(3);
  LevelEstimate e(5);
  for (int g = 0; g < 12; ++g) e.observe(e.ask(r), g % 17, 16);
  LevelEstimate again = LevelEstimate::of_state(Json::parse(e.state().dump(), "state"));
  EXPECT_EQ(again.groups(), 12);
  EXPECT_EQ(again.curve().level, e.curve().level);
  s.set_counter(r.counter());
  EXPECT_EQ(again.ask(s), e.ask(r));
  EXPECT_THROW(e.observe(3, 17, 16), Error);
  EXPECT_THROW(e.observe(-1, 1, 16), Error);
  EXPECT_THROW(LevelEstimate::of_state(Json::parse(R"({"seed": 1})", "state")), Error);
}

TEST(Difficulty, MovesByGroupsAtItsTopAlone) {
  Difficulty d(5, {.rise_above = 0.7, .window = 4});
  d.observe(4, 1);
  d.observe(6, 1);
  d.observe(5, 0.7);
  EXPECT_EQ(d.upper(), 5) << "another difficulty, and not above the threshold";
  d.observe(5, 0.71);
  EXPECT_EQ(d.upper(), 6);
  d.observe(5, 1);
  EXPECT_EQ(d.upper(), 6) << "an answer to what was asked before the rise";
  d.observe(5, 0);
  EXPECT_EQ(d.upper(), 6);
  d.observe(6, 0.05);
  EXPECT_EQ(d.upper(), 6);
  d.observe(6, 0);
  EXPECT_EQ(d.upper(), 5);
  EXPECT_THROW(d.observe(5, std::nan("")), Error);
  Difficulty bottom(0, {});
  bottom.observe(0, 0);
  EXPECT_EQ(bottom.upper(), 0);
}

TEST(Difficulty, StaysBelowItsLimit) {
  Difficulty d(5, {.highest = 6});
  d.observe(5, 1), d.observe(6, 1), d.observe(6, 1);
  EXPECT_EQ(d.upper(), 6);
  EXPECT_THROW(LearnerDifficulties({"lists"}, {.start = 4, .highest = 3}), Error);
}

TEST(Difficulty, IsDrawnFromItsWindow) {
  Rng r(1);
  std::map<int64_t, int> seen;
  const Difficulty d(9, {.window = 4});
  for (int i = 0; i < 4000; ++i) ++seen[d.draw(r)];
  ASSERT_EQ(seen.size(), 4u);
  EXPECT_EQ(seen.begin()->first, 6);
  for (const auto& [difficulty, n] : seen) EXPECT_NEAR(n, 1000, 150) << difficulty;
  EXPECT_EQ(Difficulty(0, {.window = 4}).draw(r), 0);
}

// The controller settles where a learner succeeds in about seven of ten.
TEST(Difficulty, SettlesAtTheLearnersLevel) {
  Rng r(8);
  const ResponseCurve learner{.level = 12, .slope = 2};
  Difficulty d(0, {});
  double sum = 0;
  for (int g = 0; g < 1000; ++g) {
    const int64_t at = d.upper();
    d.observe(at, static_cast<double>(successes(learner, at, 16, r)) / 16);
    if (g >= 500) sum += static_cast<double>(d.upper());
  }
  EXPECT_NEAR(sum / 500, 12, 3);
}

TEST(LearnerDifficulties, SeldomAskedEnvironmentsComeFirst) {
  LearnerDifficulties all({"dates", "lists", "walks"}, {});
  Rng r(2);
  for (int i = 0; i < 3000; ++i) {
    const auto [name, d] = all.draw(r);
    all.observe(name, d, 0.5);
  }
  for (const char* name : {"dates", "lists", "walks"})
    EXPECT_NEAR(static_cast<double>(all.of(name).groups()), 1000, 60);
  EXPECT_THROW(all.of("chess"), Error);
  EXPECT_THROW(LearnerDifficulties({"a", "a"}, {}), Error);
  EXPECT_THROW(LearnerDifficulties({}, {}), Error);
}

TEST(LearnerDifficulties, GoOnFromTheirState) {
  LearnerDifficulties all({"dates", "lists"}, {}), again({"dates", "lists"}, {});
  all.set_upper("dates", 7);
  all.observe("dates", 7, 0.9);
  again.restore(Json::parse(all.state().dump(), "state"));
  EXPECT_EQ(again.of("dates").upper(), 8);
  EXPECT_EQ(again.of("dates").groups(), 1);
  EXPECT_EQ(again.state().dump(), all.state().dump());
  EXPECT_NE(message_of([&] { LearnerDifficulties({"dates"}, {}).restore(all.state()); }).find("lists"),
            std::string::npos);
  EXPECT_NE(message_of([&] {
              again.restore(Json::parse(R"({"dates": {"upper": 1, "groups": 0}})", "s"));
            }).find("has 1 environments, expected 2"),
            std::string::npos);
}

}  // namespace
}  // namespace quern::gym
