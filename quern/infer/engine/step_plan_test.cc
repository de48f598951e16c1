// Rows of a step from the lengths of the running sequences, and the input they make.
#include "quern/infer/engine/step_plan.h"

#include <gtest/gtest.h>

namespace quern::infer {
namespace {

using Running = std::vector<std::unique_ptr<Sequence>>;
using Rows = std::vector<std::pair<size_t, int64_t>>;  // {index in running, rows}

// A prompt of which `fed` tokens are processed, and `given` tokens of output. Token ids are 100 · index + position.
void add(Running& running, int64_t prompt, int64_t fed, int64_t given = 0) {
  const auto base = static_cast<int32_t>(100 * running.size());
  Request r;
  for (int64_t i = 0; i < prompt; ++i) r.prompt.push_back(base + static_cast<int32_t>(i));
  auto s = std::make_unique<Sequence>(std::move(r), 1000);
  for (int64_t i = 0; i < given; ++i) s->tokens.push_back(base + static_cast<int32_t>(prompt + i));
  s->state.advance(fed);
  running.push_back(std::move(s));
}

Rows rows_of(const Running& running, const SnapshotRules& rules) {
  Rows out;
  for (const StepSegment& g : plan_step(running, rules))
    for (size_t i = 0; i < running.size(); ++i)
      if (running[i].get() == g.sequence) out.emplace_back(i, g.rows);
  return out;
}

TEST(StepPlan, DecodesFirstThenPromptsWhileTheyFit) {
  Running r;
  add(r, 12, 0), add(r, 5, 5, 1), add(r, 6, 0), add(r, 3, 0), add(r, 7, 8, 2);
  EXPECT_EQ(rows_of(r, {.chunk = 16}), (Rows{{1, 1}, {4, 1}, {0, 12}, {3, 3}})) << "6 rows do not fit behind 12";
  const auto segments = plan_step(r, {.chunk = 16});
  EXPECT_EQ(total_rows(segments), 17);
  EXPECT_FALSE(all_decoding(segments));
  EXPECT_TRUE(all_decoding(std::span(segments).first(2)));
}

TEST(StepPlan, PromptsEndAtMultiplesOfTheChunkAndAtSnapshots) {
  Running r;
  add(r, 50, 10);
  r[0]->snapshot_points = {{10, SnapshotKind::turn_end}, {13, SnapshotKind::turn_end}};
  EXPECT_EQ(rows_of(r, {.chunk = 16}), (Rows{{0, 6}}));
  EXPECT_EQ(rows_of(r, {.chunk = 16, .inside_steps = false}), (Rows{{0, 3}}));
  EXPECT_FALSE(plan_step(r, {.chunk = 16})[0].ends());
}

TEST(StepPlan, WhoFailedRunsAlone) {
  Running r;
  add(r, 5, 5, 1), add(r, 6, 2);
  r[1]->alone = true;
  EXPECT_EQ(rows_of(r, {.chunk = 16}), (Rows{{1, 4}}));
  EXPECT_TRUE(plan_step({}, {.chunk = 16}).empty());
}

TEST(StepInput, WantsTheLogitsOfLastTokensAndDrafts) {
  Running r;
  add(r, 40, 3), add(r, 2, 2, 1);
  // 7 8 9 5 7 8 9: prompt lookup drafts how it goes on.
  r.push_back(std::make_unique<Sequence>(Request{.prompt = {7, 8, 9, 5, 7, 8}}, 1000));
  r[2]->tokens.push_back(9), r[2]->state.advance(6);
  r[2]->ahead.emplace(std::vector<mixers::StateSite>{}, SpeculationOptions::by_ngram(2));
  r[2]->ahead->make_draft(r[2]->tokens, 1, 100, 0.01);
  const auto segments = plan_step(r, {.chunk = 8});
  const StepInput in = step_input(segments);
  EXPECT_EQ(in.ids, (std::vector<int32_t>{102, 9, 5, 7, 3, 4, 5, 6, 7}));
  EXPECT_EQ(in.lengths, (std::vector<int64_t>{1, 3, 5}));
  EXPECT_EQ(in.wanted, (std::vector<int64_t>{0, 1, 2, 3})) << "the prompt has not ended";
  EXPECT_EQ(in.ready, (std::vector<Sequence*>{r[1].get(), r[2].get()}));
  EXPECT_EQ(in.states, (std::vector<mixers::SequenceState*>{&r[1]->state, &r[2]->state, &r[0]->state}));
  EXPECT_EQ(total_rows(segments), 9);
}

}  // namespace
}  // namespace quern::infer
