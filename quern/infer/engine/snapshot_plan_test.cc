// Positions from lengths: which ends are worth a snapshot, and how far apart periodic ones are.
#include "quern/infer/engine/snapshot_plan.h"

#include <gtest/gtest.h>

namespace quern::infer {
namespace {

constexpr SnapshotKind kPeriodic = SnapshotKind::periodic, kBranch = SnapshotKind::branch,
                       kTurn = SnapshotKind::turn_end;

struct Known {
  int64_t matched = 0, cached = 0;
};

SnapshotPositions plan(const SnapshotRules& rules, int64_t prompt, const Known& known = {},
                       const std::vector<int64_t>& turn_ends = {}) {
  PrefixMatch match;
  match.matched = known.matched, match.cached = known.cached;
  return plan_snapshots(rules, prompt, match, turn_ends);
}

TEST(SnapshotPlan, TheEndIsWorthOneWhereItSavesEnough) {
  EXPECT_TRUE(plan({}, 32).empty()) << "31 tokens are quickly processed again";
  EXPECT_EQ(plan({}, 33), (SnapshotPositions{{32, kTurn}}));
  EXPECT_TRUE(plan({}, 33, {.matched = 1, .cached = 1}).empty());
}

TEST(SnapshotPlan, TurnEndsAndBranchesBehindWhatIsCached) {
  EXPECT_EQ(plan({}, 100, {}, {40, 95}), (SnapshotPositions{{40, kTurn}, {95, kTurn}})) << "the end is near the last";
  EXPECT_EQ(plan({}, 100, {.matched = 40, .cached = 40}, {20, 40, 60, 100}),
            (SnapshotPositions{{60, kTurn}, {99, kTurn}}));
  EXPECT_EQ(plan({}, 100, {.matched = 50, .cached = 10}), (SnapshotPositions{{50, kBranch}, {99, kTurn}}));
  EXPECT_EQ(plan({}, 100, {.matched = 41, .cached = 10}), (SnapshotPositions{{99, kTurn}})) << "31 tokens on";
}

TEST(SnapshotPlan, PeriodicOnesLieOnAGridThatIsTheSameForAllPrompts) {
  EXPECT_EQ(plan({.grid = 64}, 200, {.matched = 70, .cached = 70}, {192}),
            (SnapshotPositions{{128, kPeriodic}, {192, kTurn}}));
}

TEST(SnapshotPlan, DeterministicOnesAreMultiplesOfTheChunk) {
  const SnapshotRules rows{.chunk = 16, .chunk_ends_only = true},
      fixed{.chunk = 16, .grid = 32, .chunk_ends_only = true};
  EXPECT_EQ(plan(rows, 100, {}, {40}), (SnapshotPositions{{96, kTurn}}));
  EXPECT_TRUE(plan(rows, 100, {.matched = 96, .cached = 96}).empty());
  EXPECT_EQ(plan(fixed, 100, {}, {40}), (SnapshotPositions{{32, kPeriodic}, {64, kPeriodic}, {96, kPeriodic}}));
}

TEST(SnapshotPlan, WithoutRecurrentStateOnlyTheEnd) {
  EXPECT_EQ(plan({.any_position = true}, 100, {}, {40}), (SnapshotPositions{{99, kTurn}}));
  EXPECT_TRUE(plan({.any_position = true}, 100, {}, {80}).empty()) << "19 tokens behind a turn's end";
}

TEST(SnapshotGrid, TakesAQuarterOfTheCacheOrAddsAQuarterToTheRows) {
  SnapshotGridInput in{
      .totals = {.row_bytes = 100, .fixed_bytes = 40000}, .max_positions = 1 << 20, .cache_bytes = int64_t{1} << 30};
  // 4 · 40000 · 2^20 / 2^30 = 156.25 tokens for the cache; 4 · 40000 / 100 = 1600 for the rows: the smaller, in 64s.
  EXPECT_EQ(snapshot_grid(in), 192);
  in.totals.row_bytes = 2000;  // 80 tokens
  EXPECT_EQ(snapshot_grid(in), 128);
  in.inside_steps = false;  // then only where a chunk ends
  EXPECT_EQ(snapshot_grid(in), 512);
  in.inside_steps = true, in.chunk = 32;
  EXPECT_EQ(snapshot_grid(in), 96);
}

}  // namespace
}  // namespace quern::infer
