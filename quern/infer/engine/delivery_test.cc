// How outputs end, what on_token sees, and how far a draft is right.
#include "quern/infer/engine/delivery.h"

#include <gtest/gtest.h>

namespace quern::infer {
namespace {

// Rows of logits whose greedy tokens are these, of a vocabulary of 10.
Tensor logits_for(const std::vector<int32_t>& tokens) {
  Tensor t = Tensor::empty({static_cast<int64_t>(tokens.size()), 10}, DType::f32);
  for (float& x : t.span<float>()) x = 0;
  for (size_t i = 0; i < tokens.size(); ++i) t.span<float>()[10 * i + static_cast<size_t>(tokens[i])] = 1;
  return t;
}

Request greedy(GenerateOptions options = {}) {
  options.sampling.temperature = 0;
  return {.prompt = {1, 2}, .options = std::move(options)};
}

// Delivers one token after another; the end, and "" while it goes on.
std::string deliver_each(Sequence& s, const std::vector<int32_t>& tokens) {
  for (const int32_t t : tokens) {
    const auto rows = split_logits({&s}, logits_for({t}));
    if (const char* end = deliver(rows[0])) return end;
  }
  return "";
}

TEST(Delivery, EndsAtStopIdsAndAtTheMaximum) {
  Sequence stops(greedy({.stop_ids = {5}}), 100), longest(greedy({.max_tokens = 2}), 100), full(greedy(), 4);
  EXPECT_EQ(deliver_each(stops, {3, 4, 5}), "stop");
  EXPECT_EQ(stops.out.tokens, (std::vector<int32_t>{3, 4})) << "without the stop id";
  EXPECT_EQ(deliver_each(longest, {5, 5}), "length");
  EXPECT_EQ(longest.tokens, (std::vector<int32_t>{1, 2, 5, 5}));
  EXPECT_EQ(deliver_each(full, {5, 5}), "length") << "the model's positions are used up";
  EXPECT_EQ(full.out.logprobs.size(), 2u);
}

TEST(Delivery, ForcedTokensGoFirstAndNeverStop) {
  Sequence s(greedy({.stop_ids = {5}, .forced = {5, 6}}), 100);
  EXPECT_EQ(deliver_each(s, {0, 0, 7}), "");
  EXPECT_EQ(s.out.tokens, (std::vector<int32_t>{5, 6, 7}));
  EXPECT_LT(s.out.logprobs[0], s.out.logprobs[2]) << "of the model, not of certainty";
}

TEST(Delivery, TokensMayBeForcedWhileItRuns) {
  Sequence s(greedy({.stop_ids = {5}, .forced = {1}}), 100);
  EXPECT_FALSE(s.force_next(std::vector<int32_t>{6})) << "its own forced prefix comes first";
  EXPECT_EQ(deliver_each(s, {0, 7}), "");
  EXPECT_TRUE(s.force_next(std::vector<int32_t>{6, 5}));
  EXPECT_EQ(deliver_each(s, {0, 0, 8}), "");
  EXPECT_EQ(s.out.tokens, (std::vector<int32_t>{1, 7, 6, 5, 8}));
}

TEST(Delivery, AFalseFromTheClientCancels) {
  Request r = greedy({.top_logprobs = 2});
  std::vector<int32_t> seen;
  r.on_token = [&](const Emitted& e) {
    seen.push_back(e.token);
    EXPECT_EQ(e.top.size(), 2u);
    return e.token != 4;
  };
  Sequence s(std::move(r), 100);
  EXPECT_EQ(deliver_each(s, {3, 4, 5}), "cancelled");
  EXPECT_EQ(seen, (std::vector<int32_t>{3, 4}));
}

TEST(Delivery, ADraftGoesOnWhileItIsRightAndRollsBack) {
  for (const size_t right : {0u, 1u, 2u, 3u}) {
    Request r = greedy();
    r.prompt = {7, 8, 9, 3, 4, 5, 7, 8};
    Sequence s(std::move(r), 100);
    s.tokens.push_back(9), s.out.tokens.push_back(9);  // 7 8 9 again: 3 4 5 is drafted
    s.ahead.emplace(std::vector<mixers::StateSite>{}, SpeculationOptions::by_ngram(3));
    s.ahead->make_draft(s.tokens, 1, 100, 0.01);
    ASSERT_EQ(s.draft().size(), 3u);
    s.state.advance(9 + 3);  // as the forward pass leaves it
    std::vector<int32_t> truth = {3, 4, 5, 6};
    if (right < 3) truth[right] = 0;
    EXPECT_EQ(deliver(split_logits({&s}, logits_for(truth))[0]), nullptr);
    EXPECT_EQ(s.out.tokens.size(), 1 + right + 1) << "one token more than was right";
    EXPECT_EQ(s.fed(), static_cast<int64_t>(9 + right));
    EXPECT_EQ(s.out.speculated.all_accepted(), static_cast<int64_t>(right));
    EXPECT_TRUE(s.draft().empty());
  }
}

TEST(Delivery, RowsOfManySequencesAreSplitAndSampledAsOneWouldBe) {
  std::vector<std::unique_ptr<Sequence>> all;
  std::vector<Sequence*> sequences;
  for (int i = 0; i < 3; ++i) {
    all.push_back(std::make_unique<Sequence>(greedy(), 100));
    sequences.push_back(all.back().get());
  }
  all[1]->r.options.forced = {0};
  const auto rows = split_logits(sequences, logits_for({3, 4, 5}));
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].sampled->token, 3);
  EXPECT_FALSE(rows[1].sampled) << "its token is forced";
  EXPECT_EQ(rows[2].sampled->token, 5);
  EXPECT_EQ(rows[1].row(0)[4], 1);
}

TEST(Delivery, TheResultSaysHowItEndedAndHowLongItTook) {
  Sequence s(greedy(), 100);
  s.started = s.ended - std::chrono::seconds(3);
  complete_result(s, "error", "no memory");
  EXPECT_EQ(s.out.finish, "error");
  EXPECT_EQ(s.out.error, "no memory");
  EXPECT_EQ(s.out.prompt_seconds, 3) << "it never came to a token";
  s.first_token = s.started + std::chrono::seconds(1), s.out.tokens = {1};
  complete_result(s, "stop", "");
  EXPECT_EQ(s.out.prompt_seconds, 1);
  EXPECT_EQ(s.out.decode_seconds, 2);
}

}  // namespace
}  // namespace quern::infer
