// Marks of a state: how many, where a wrong guess goes back to, and that nothing of it is left.
#include "quern/infer/speculation/speculation.h"

#include <gtest/gtest.h>

#include "quern/base/test_message.h"

namespace quern::infer {
namespace {

// Rows of 4 floats a token, and a fixed part of `fixed` floats.
std::vector<mixers::StateSite> sites(int64_t fixed, bool inside = true) {
  mixers::StateSpec s{{{.name = "k", .per_token = true, .shape = {1, 4}}}};
  if (fixed > 0) s.parts.push_back({.name = "ssm", .shape = {fixed}, .snapshots_inside = inside});
  return {{0, 0, s}};
}

// What a forward does: token t is a row of t's, and the fixed part becomes what the last token was, on the way too.
void feed(mixers::SequenceState& state, std::span<const int32_t> tokens,
          const std::vector<mixers::SnapshotPoint>& snapshot_points) {
  const bool fixed = state.sites()[0].spec.parts.size() > 1;
  const auto fill = [](const Tensor& t, int32_t x) {
    for (float& y : t.span<float>()) y = static_cast<float>(x);
  };
  for (size_t i = 0; i < tokens.size(); ++i) {
    Tensor row = Tensor::empty({1, 1, 4}, DType::f32);
    fill(row, tokens[i]);
    state.append(0, 0, 1).copy_from(row);
    if (!fixed) continue;
    fill(state.fixed(0, 1), tokens[i]);
    for (const mixers::SnapshotPoint& c : snapshot_points)
      if (c.rows == static_cast<int64_t>(i) + 1) fill(c.into->fixed(0, 1), tokens[i]);
  }
  state.advance(static_cast<int64_t>(tokens.size()));
}

TEST(Speculation, MarksEveryRowWhereStatesAreLightAndOneWhereTheyAreHeavy) {
  EXPECT_EQ(rollback_point_count(sites(0), 8), 0);
  EXPECT_EQ(rollback_point_count(sites(4 * 32), 8), 8);
  EXPECT_EQ(rollback_point_count(sites(4 * 32 + 4), 8), 1);
  EXPECT_EQ(rollback_point_count(sites(4, false), 8), 1);
}

TEST(Speculation, AWrongGuessLeavesTheStateAsItWas) {
  const std::vector<int32_t> text = {1, 2, 3, 4, 5, 6, 1, 2, 3};
  struct Case {
    int64_t fixed;
    bool inside;
    int64_t right, length;  // where the state is then
  };
  for (const Case& c :
       {Case{0, true, 0, 9}, Case{0, true, 2, 11}, Case{8, true, 0, 9}, Case{8, true, 1, 10}, Case{8, true, 3, 12},
        Case{900, true, 2, 9}, Case{900, true, 3, 12}, Case{8, false, 2, 8}, Case{8, false, 3, 12}}) {
    Speculation s(sites(c.fixed, c.inside), SpeculationOptions::by_ngram(3));
    mixers::SequenceState state(sites(c.fixed, c.inside));
    feed(state, std::span(text).first(8), {});
    s.make_draft(text, 1, 100, 0.01);
    ASSERT_EQ(std::vector<int32_t>(s.draft().begin(), s.draft().end()), (std::vector<int32_t>{4, 5, 6}));
    std::vector<mixers::SnapshotPoint> snapshot_points;
    s.add_rollback_points(state, 0, 1, snapshot_points);
    feed(state, std::vector<int32_t>{3, 4, 5, 6}, snapshot_points);
    s.settle(state, c.right);
    EXPECT_FALSE(s.has_draft());
    ASSERT_EQ(state.length(), c.length) << c.fixed << " " << c.right;
    const std::vector<int32_t> whole = {1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6};
    const auto newest = static_cast<float>(whole[static_cast<size_t>(c.length) - 1]);
    EXPECT_EQ(state.rows(0, 0).dim(0), c.length);
    EXPECT_EQ(state.rows(0, 0).narrow(0, c.length - 1, 1).clone().span<float>()[0], newest);
    if (c.fixed > 0) {
      EXPECT_EQ(state.fixed(0, 1).span<float>()[0], newest);
    }
  }
}

// A convolution of one tap keeps no rows: a part of nothing, which is marked like any other.
TEST(Speculation, APartOfNothingIsMarkedToo) {
  std::vector<mixers::StateSite> none = sites(4);
  none[0].spec.parts[1].shape = {0};
  EXPECT_EQ(rollback_point_count(none, 3), 3);
  Speculation s(none, SpeculationOptions::by_ngram(3));
  mixers::SequenceState state(none);
  const std::vector<int32_t> text = {1, 2, 3, 4, 1, 2};
  feed(state, std::span(text).first(5), {});
  s.make_draft(text, 1, 100, 0.01);
  ASSERT_EQ(s.draft().size(), 3u);
  std::vector<mixers::SnapshotPoint> snapshot_points;
  s.add_rollback_points(state, 0, 1, snapshot_points);
  feed(state, std::vector<int32_t>{2, 3, 4, 1}, snapshot_points);
  s.settle(state, 1);
  EXPECT_EQ(state.length(), 7);
  EXPECT_EQ(state.rows(0, 0).dim(0), 7);
}

TEST(Speculation, WithoutMarksInsideItGuessesBehindOneRowAlone) {
  const std::vector<int32_t> text = {1, 2, 3, 4, 1, 2};
  const SpeculationOptions three = SpeculationOptions::by_ngram(3);
  Speculation inside(sites(8), three), before(sites(8, false), three);
  inside.make_draft(text, 2, 100, 0.01);
  before.make_draft(text, 2, 100, 0.01);
  EXPECT_TRUE(inside.has_draft());
  EXPECT_FALSE(before.has_draft());
  before.make_draft(text, 1, 100, 0.01);
  EXPECT_TRUE(before.has_draft());
}

TEST(Speculation, IsAskedForByName) {
  EXPECT_FALSE(parse_speculation("none").on());
  const SpeculationOptions usual = parse_speculation("ngram"), far = parse_speculation("draft:16"),
                           both = parse_speculation("both:3");
  EXPECT_TRUE(usual.max_draft == kDefaultDraftTokens && usual.ngram && !usual.draft);
  EXPECT_TRUE(far.max_draft == 16 && !far.ngram && far.draft);
  EXPECT_TRUE(both.max_draft == 3 && both.ngram && both.draft);
  for (const char* bad : {"", "none:2", "ngram:", "ngram:0", "ngram:17", "ngram:4x", "ngramm", "draft:"})
    EXPECT_NE(message_of([&] { parse_speculation(bad); }).find("1 to 16"), std::string::npos) << bad;
}

}  // namespace
}  // namespace quern::infer
