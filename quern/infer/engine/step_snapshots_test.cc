// Points on a step's way, and what of them reaches the prefix cache.
#include "quern/infer/engine/step_snapshots.h"

#include <gtest/gtest.h>

namespace quern::infer {
namespace {

TEST(StepSnapshots, AreLeftOnTheWayAndStoredUnderTheirTokens) {
  const std::vector<mixers::StateSite> sites = {
      {0,
       0,
       {{{.name = "k", .per_token = true, .shape = {1}}, {.name = "ssm", .shape = {1}, .snapshots_inside = true}}}}};
  PrefixCache cache(sites, 1 << 20);
  std::vector<int32_t> prompt(40);
  for (size_t i = 0; i < prompt.size(); ++i) prompt[i] = static_cast<int32_t>(i);
  Sequence s({.prompt = prompt}, 100);
  s.state = mixers::SequenceState(sites);
  s.state.append(0, 0, 4), s.state.advance(4);
  for (const int64_t p : {4, 10, 20, 24, 30}) s.snapshot_points[p] = SnapshotKind::turn_end;

  const std::vector<StepSegment> segments = {{&s, 20}};  // positions 4 to 24
  const StepSnapshots snapshots(segments, sites);
  ASSERT_EQ(snapshots.points().size(), 2u) << "those at both ends are states themselves, 30 is another step's";
  EXPECT_EQ(snapshots.points()[0].rows, 6);
  EXPECT_EQ(snapshots.points()[1].rows, 16);
  // The forward pass: each recurrent state is the number of its tokens.
  s.state.append(0, 0, 20), s.state.advance(20);
  s.state.fixed(0, 1).span<float>()[0] = 24;
  for (const mixers::SnapshotPoint& p : snapshots.points())
    p.into->fixed(0, 1).span<float>()[0] = static_cast<float>(p.into->length());
  snapshots.store(cache);

  for (const auto& [limit, expected] :
       std::vector<std::pair<int64_t, int64_t>>{{9, 0}, {19, 10}, {23, 20}, {39, 24}}) {
    mixers::SequenceState fresh(sites);
    EXPECT_EQ(cache.resume(prompt, limit, fresh).cached, expected);
    EXPECT_EQ(fresh.fixed(0, 1).span<float>()[0], static_cast<float>(expected));
  }
}

}  // namespace
}  // namespace quern::infer
