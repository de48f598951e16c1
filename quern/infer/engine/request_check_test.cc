// What an engine refuses at once, and with which words.
#include "quern/infer/engine/request_check.h"

#include <gtest/gtest.h>

#include "quern/base/test_message.h"

namespace quern::infer {
namespace {

constexpr RequestLimits kLimits = {.max_positions = 8, .vocab_size = 10};

std::string refusal(const Request& r, const RequestLimits& limits = kLimits) {
  return message_of([&] { check_request(r, limits); });
}
bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

TEST(RequestCheck, PromptAndIdsMustFitTheModel) {
  EXPECT_EQ(refusal({.prompt = {0, 9}}), "");
  EXPECT_TRUE(has(refusal({}), "the prompt is empty"));
  EXPECT_EQ(refusal({.prompt = std::vector<int32_t>(8, 1)}), "");
  EXPECT_TRUE(
      has(refusal({.prompt = std::vector<int32_t>(9, 1)}), "the prompt has 9 tokens; this model's limit is 8"));
  EXPECT_TRUE(has(refusal({.prompt = {1, 10}}), "prompt token 10 at position 1: ids run from 0 to 9"));
  EXPECT_TRUE(has(refusal({.prompt = {1}, .options = {.forced = {-1}}}), "forced token -1 at position 0"));
}

TEST(RequestCheck, NoTokensOnlyWhereThePromptIsScored) {
  EXPECT_TRUE(has(refusal({.prompt = {1}, .options = {.max_tokens = 0}}), "max_tokens 0"));
  EXPECT_EQ(refusal({.prompt = {1}, .options = {.max_tokens = 0, .score_prompt = true}}), "");
}

TEST(RequestCheck, StopStringsNeedATokenizer) {
  const Request r{.prompt = {1}, .options = {.stop = {"x"}}};
  EXPECT_TRUE(has(refusal(r), "need a tokenizer"));
  EXPECT_EQ(refusal(r, {.max_positions = 8, .vocab_size = 10, .tokenizer = true}), "");
}

TEST(RequestCheck, SpeculationNeedsASourceAndACacheThatRollsBack) {
  const auto with = [](SpeculationOptions g, const RequestLimits& limits = kLimits) {
    return refusal({.prompt = {1}, .options = {.speculate = g}}, limits);
  };
  RequestLimits draft = kLimits, sharded = kLimits;
  draft.draft_model = true, sharded.sharded_cache = true;
  EXPECT_EQ(with(SpeculationOptions::by_ngram(kMaxDraftTokens)), "");
  EXPECT_TRUE(has(with(SpeculationOptions::by_ngram(kMaxDraftTokens + 1)), "draft length 17"));
  EXPECT_TRUE(has(with({.max_draft = 4}), "no draft source"));
  EXPECT_TRUE(has(with(SpeculationOptions::by_draft(4)), "no draft model"));
  EXPECT_EQ(with(SpeculationOptions::by_draft(4), draft), "");
  EXPECT_TRUE(has(with(SpeculationOptions::by_ngram(4), sharded), "cannot be rolled back"));
  EXPECT_EQ(with({}, sharded), "");
}

}  // namespace
}  // namespace quern::infer
