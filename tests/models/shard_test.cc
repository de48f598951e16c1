// One session whose attention caches lie over ranks answers as it does alone: the same tokens for any number of ranks
// and every way of joining, in double and packed; every row of the caches on exactly one rank, generated tokens too.
#include <gtest/gtest.h>

#include <mutex>

#include "quern/base/rng.h"
#include "quern/base/test_message.h"
#include "quern/comm/in_process.h"
#include "quern/infer/cache/session.h"
#include "quern/infer/engine/engine.h"
#include "quern/mixers/ranks/prompt_shards.h"
#include "quern/models/model_wrapper.h"
#include "tests/models/golden.h"

namespace quern {
namespace {

using Tokens = std::vector<int32_t>;

Tokens random_tokens(int64_t n, int64_t vocab) {
  Tokens t;
  Rng rng(11);
  for (int64_t i = 0; i < n; ++i) t.push_back(static_cast<int32_t>(rng.below(static_cast<uint64_t>(vocab))));
  return t;
}

struct Answer {
  Tokens tokens;
  std::vector<double> logprobs;
};

// Counts the rows that go through it.
struct CountedModel : models::ModelWrapper {
  using ModelWrapper::ModelWrapper;
  int64_t rows = 0;
  grad::Var hidden(grad::Tape& tape, std::span<const int32_t> ids, const mixers::Batch& batch) override {
    rows += std::ssize(ids);
    return ModelWrapper::hidden(tape, ids, batch);
  }
};

Answer greedy(models::Model& m, const Tokens& prompt, int64_t n, DType kv, const mixers::CacheShards* shards,
              int64_t shard_prompts_from = 256) {
  infer::Engine engine(
      m, {.kv = kv, .chunk = 16, .cache_bytes = 0, .shards = shards, .shard_prompts_from = shard_prompts_from});
  infer::Request r{.prompt = prompt};
  r.options.sampling.temperature = 0;
  r.options.max_tokens = n;
  infer::Generated g = engine.run(std::move(r));
  return {g.tokens, g.logprobs};
}

class ShardsOn : public testing::TestWithParam<const char*> {};

TEST_P(ShardsOn, SameTokensForAnyNumberOfRanks) {
  const Golden golden(GetParam());
  for (DType t : {DType::f64, DType::f32}) {
    std::vector<std::unique_ptr<models::Model>> models;  // a rank has its own
    for (int r = 0; r < 4; ++r) models.push_back(load_golden(golden, t, t == DType::f32));
    const Tokens prompt = random_tokens(41, models[0]->vocab_size());
    const Answer alone = greedy(*models[0], prompt, 64, t, nullptr);
    ASSERT_EQ(alone.tokens.size(), 64u);
    for (int p : {1, 2, 4})
      for (mixers::ReduceForm f : {mixers::ReduceForm::butterfly, mixers::ReduceForm::two_reduces,
                                   mixers::ReduceForm::heads, mixers::ReduceForm::ring})
        comm::run_ranks(p, [&](comm::Communicator& c) {
          const mixers::CacheShards shards(c, {.form = f}, 3);
          const Answer a = greedy(*models[static_cast<size_t>(c.rank())], prompt, 64, t, &shards);
          EXPECT_EQ(a.tokens, alone.tokens) << p << " ranks, " << mixers::reduce_form_name(f);
          for (size_t i = 0; i < a.logprobs.size() && t == DType::f64; ++i)
            EXPECT_NEAR(a.logprobs[i], alone.logprobs[i], 1e-10);
        });
  }
}

// The same where the ranks compute the prompt together.
class PromptsOverRanks : public testing::TestWithParam<const char*> {};

TEST_P(PromptsOverRanks, GiveTheSameTokens) {
  const Golden golden(GetParam());
  for (DType t : {DType::f64, DType::f32}) {
    std::vector<std::unique_ptr<models::Model>> models;
    for (int r = 0; r < 4; ++r) models.push_back(load_golden(golden, t, t == DType::f32));
    EXPECT_TRUE(mixers::PromptShards::serve(models[0]->sites(t)));
    for (const int64_t n : {70, 97}) {
      const Tokens prompt = random_tokens(n, models[0]->vocab_size());
      const Answer alone = greedy(*models[0], prompt, 24, t, nullptr);
      for (int p : {1, 2, 3, 4})
        comm::run_ranks(p, [&](comm::Communicator& c) {
          const mixers::CacheShards shards(c, {}, 3);
          CountedModel counted(*models[static_cast<size_t>(c.rank())]);
          const Answer a = greedy(counted, prompt, 24, t, &shards, 64);
          EXPECT_EQ(a.tokens, alone.tokens) << p << " ranks, " << n << " tokens";
          for (size_t i = 0; i < a.logprobs.size(); ++i)
            EXPECT_NEAR(a.logprobs[i], alone.logprobs[i], t == DType::f64 ? 1e-10 : 1e-4);
          EXPECT_EQ(c.all_reduce(counted.rows - 24), n - 1) << "all but 24 single steps are shared";
        });
    }
  }
}

TEST_P(ShardsOn, EveryRowIsOnOneRank) {
  const Golden golden(GetParam());
  constexpr int kRanks = 3;
  constexpr int64_t kPrompt = 20, kSteps = 9;
  std::vector<std::unique_ptr<models::Model>> models;
  for (int r = 0; r < kRanks; ++r) models.push_back(load_golden(golden, DType::f64, false));
  const Tokens all = random_tokens(kPrompt + kSteps, models[0]->vocab_size());
  comm::run_ranks(kRanks, [&](comm::Communicator& c) {
    models::Model& m = *models[static_cast<size_t>(c.rank())];
    const mixers::CacheShards shards(c, {}, 2);
    mixers::SequenceState state(m.sites(DType::f64));
    for (int64_t at = 0; at < kPrompt + kSteps;) {
      const int64_t n = at == 0 ? kPrompt : 1;
      grad::Tape tape(grad::Tape::inference);
      mixers::Batch batch = mixers::Batch::resume({&state}, {n});
      batch.placement = shards;
      m.hidden(tape, std::span(all).subspan(static_cast<size_t>(at), static_cast<size_t>(n)), batch);
      at += n;
      for (size_t site = 0; site < state.sites().size(); ++site)
        for (size_t part = 0; part < state.sites()[site].spec.parts.size(); ++part) {
          const mixers::StatePart& p = state.sites()[site].spec.parts[part];
          if (!p.per_token) continue;
          const int64_t rows = state.rows(static_cast<int>(site), static_cast<int>(part)).dim(0);
          if (p.window == 0) {
            EXPECT_EQ(c.all_reduce(rows), at) << p.name;
            EXPECT_EQ(rows, shards.count_here(at));
          } else {
            EXPECT_EQ(rows, at) << "parts with a window stay whole";
          }
        }
    }
  });
}

std::string golden_name(const testing::TestParamInfo<const char*>& i) {
  std::string s = i.param;
  std::replace(s.begin(), s.end(), '-', '_');
  return s;
}

INSTANTIATE_TEST_SUITE_P(Goldens, ShardsOn,
                         testing::Values("llama-gqa", "mistral-window", "zamba2-2block-rope", "zaya-5-4x2",
                                         "zaya-5-sliding", "granite-h-moe"),
                         golden_name);
INSTANTIATE_TEST_SUITE_P(Goldens, PromptsOverRanks,
                         testing::Values("llama-gqa", "qwen3-dynamic", "mistral-window", "zamba2-2block-rope",
                                         "zamba2-bounded", "falcon-h1", "granite-h-moe", "zaya-2-bias", "zaya-5-4x2",
                                         "zaya-5-sliding"),
                         golden_name);

// Chunks attend to keys as the cache holds them, so a cache of fewer bits brings no other differences than it does alone.
TEST(Shards, PromptsOverRanksIntoSmallCaches) {
  for (const char* name : {"llama-gqa", "zaya-5-4x2"}) {
    const Golden golden(name);
    std::vector<std::unique_ptr<models::Model>> models;
    for (int r = 0; r < 3; ++r) models.push_back(load_golden(golden, DType::f32, true));
    const Tokens prompt = random_tokens(97, models[0]->vocab_size());
    for (const DType kv : {DType::bf16, DType::i8}) {
      const Answer alone = greedy(*models[0], prompt, 1, kv, nullptr);
      comm::run_ranks(3, [&](comm::Communicator& c) {
        const mixers::CacheShards shards(c, {}, 3);
        const Answer a = greedy(*models[static_cast<size_t>(c.rank())], prompt, 1, kv, &shards, 64);
        EXPECT_EQ(a.tokens, alone.tokens) << name << ", " << dtype_name(kv);
        EXPECT_NEAR(a.logprobs[0], alone.logprobs[0], 1e-3) << name << ", " << dtype_name(kv);
      });
    }
  }
}

// A model with a mixer that cannot compute its prompt over ranks computes it on each.
TEST(Shards, PromptsOfOtherMixersGoThroughEveryRank) {
  const Golden golden("zamba-6");
  std::vector<std::unique_ptr<models::Model>> models;
  for (int r = 0; r < 2; ++r) models.push_back(load_golden(golden, DType::f64, false));
  EXPECT_FALSE(mixers::PromptShards::serve(models[0]->sites(DType::f64)));
  const Tokens prompt = random_tokens(70, models[0]->vocab_size());
  const Answer alone = greedy(*models[0], prompt, 8, DType::f64, nullptr);
  comm::run_ranks(2, [&](comm::Communicator& c) {
    const mixers::CacheShards shards(c);
    CountedModel counted(*models[static_cast<size_t>(c.rank())]);
    EXPECT_EQ(greedy(counted, prompt, 8, DType::f64, &shards, 64).tokens, alone.tokens);
    EXPECT_EQ(counted.rows, 77);
  });
}

TEST(Shards, NoPrefixCacheOverRanks) {
  const auto model = load_golden(Golden("llama-gqa"), DType::f32, false);
  comm::run_ranks(1, [&](comm::Communicator& c) {
    const mixers::CacheShards shards(c);
    EXPECT_NE(message_of([&] { infer::Engine(*model, {.shards = &shards}); }).find("prefix cache"),
              std::string::npos);
  });
}

}  // namespace
}  // namespace quern
