// Who drafts: shares of memory and the conditions, by prompt lookup, without a model.
#include "quern/infer/engine/draft_planner.h"

#include <gtest/gtest.h>

namespace quern::infer {
namespace {

std::vector<mixers::StateSite> sites(int64_t row_floats) {
  return {{0, 0, {{{.name = "k", .per_token = true, .shape = {row_floats}}}}}};
}

// 7 8 9 3 … 7 8, then 9: its continuation is in the prompt.
Sequence repeating(GenerateOptions options) {
  Sequence s({.prompt = {7, 8, 9, 3, 4, 5, 6, 7, 8}, .options = std::move(options)}, 100);
  s.tokens.push_back(9), s.out.tokens.push_back(9);
  s.state.advance(9);
  return s;
}

TEST(DraftPlanner, TheDraftModelsShareIsThatOfItsState) {
  EXPECT_EQ(draft_cache_bytes(1000, sites(3), sites(1)), 250);
  EXPECT_EQ(draft_cache_bytes(1000, sites(2), sites(2)), 500);
}

TEST(DraftPlanner, DraftsOnlyWhatIsAskedForAndFits) {
  DraftPlanner planner({.sites = sites(1), .vocab_size = 10}, nullptr);
  const auto drafted = [&](GenerateOptions options, const std::function<void(Sequence&)>& change = {}) {
    Sequence s = repeating(std::move(options));
    planner.start(s);
    if (change) change(s);
    planner.make_drafts(std::vector<StepSegment>{{&s, s.pending()}});
    return std::vector<int32_t>(s.draft().begin(), s.draft().end());
  };
  const GenerateOptions on{.speculate = SpeculationOptions::by_ngram(2)};
  EXPECT_EQ(drafted(on), (std::vector<int32_t>{3, 4}));
  EXPECT_TRUE(drafted({}).empty());
  EXPECT_EQ(drafted({.max_tokens = 3, .speculate = on.speculate}), (std::vector<int32_t>{3}))
      << "room for two tokens";
  EXPECT_TRUE(drafted({.forced = {9, 9}, .speculate = on.speculate}).empty()) << "the next token is forced";
  EXPECT_TRUE(drafted(on, [](Sequence& s) { s.alone = true; }).empty());
  EXPECT_TRUE(drafted(on, [](Sequence& s) { s.out.tokens.clear(); }).empty()) << "the prompt has not ended";
  EXPECT_EQ(planner.cache_bytes(), 0);
}

}  // namespace
}  // namespace quern::infer
