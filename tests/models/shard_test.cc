// One session whose attention caches lie over ranks answers as it does alone: the same tokens for any number of ranks
// and every way of joining, in double and packed; every row of the caches on exactly one rank, generated tokens too.
#include <gtest/gtest.h>

#include <mutex>

#include "quern/base/rng.h"
#include "quern/base/test_message.h"
#include "quern/comm/in_process.h"
#include "quern/infer/cache/session.h"
#include "quern/infer/engine/engine.h"
#include "quern/mixers/ranks/cache_shards.h"
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

Answer greedy(models::Model& m, const Tokens& prompt, int64_t n, DType kv, const mixers::CacheShards* shards) {
  infer::Engine engine(m, {.kv = kv, .chunk = 16, .cache_bytes = 0, .shards = shards});
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

INSTANTIATE_TEST_SUITE_P(Goldens, ShardsOn,
                         testing::Values("llama-gqa", "mistral-window", "zamba2-2block-rope", "zaya-5-4x2",
                                         "zaya-5-sliding", "granite-h-moe"),
                         [](const auto& i) {
                           std::string s = i.param;
                           std::replace(s.begin(), s.end(), '-', '_');
                           return s;
                         });

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
