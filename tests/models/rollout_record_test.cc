// Rollout records: what they hold, that a rollout replays from its seed, that log-probabilities are those of the
// distribution that was sampled from, and that routes pinned in another pass give the engine's distribution.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "quern/kernels/cpu/products.h"
#include "tests/models/engine_on.h"

namespace quern {
namespace {

infer::Request recorded(Tokens prompt, uint64_t seed, double temperature = 1) {
  infer::Request r{.prompt = std::move(prompt)};
  r.options = {.sampling = {.temperature = temperature, .seed = seed}, .max_tokens = 30, .record = true};
  return r;
}

// log p of every token but the first, by one pass over the whole text.
std::vector<double> scored(models::Model& m, const Tokens& ids, const nn::ExpertRoutes* routes, double temperature) {
  mixers::SequenceState state(m.sites(DType::f32));
  grad::Tape tape(grad::Tape::inference);
  const auto n = static_cast<int64_t>(ids.size()) - 1;  // the last is predicted, not read
  mixers::Batch batch = mixers::Batch::resume({&state}, {n});
  batch.replay_routes = routes;
  const Tensor logits = m.logits(tape, m.hidden(tape, std::span(ids).first(ids.size() - 1), batch)).value;
  std::vector<double> out;
  for (int64_t t = 0; t < n; ++t) {
    const auto row = logits.view<const float, 2>();
    double sum = 0, top = -1e30;
    for (int64_t v = 0; v < logits.dim(1); ++v) top = std::max(top, static_cast<double>(row(t, v)) / temperature);
    for (int64_t v = 0; v < logits.dim(1); ++v) sum += std::exp(static_cast<double>(row(t, v)) / temperature - top);
    out.push_back(static_cast<double>(row(t, ids[static_cast<size_t>(t) + 1])) / temperature - top - std::log(sum));
  }
  return out;
}

TEST_P(EngineOn, RolloutsRecordWhatTheyWereSampledFrom) {
  for (double temperature : {1.0, 0.7}) {
    const Tokens prompt = random_tokens(20, 3);
    infer::Request r = recorded(prompt, 5, temperature);
    const infer::Generated once = infer::Engine(*model_, {.chunk = 16}).run(r);
    ASSERT_TRUE(once.record);
    EXPECT_EQ(once.finish, "length");
    EXPECT_EQ(once.record->tokens, once.tokens);

    // A stop token ends the answer and belongs to the record: here the fifth token of the answer.
    r.options.stop_ids = {once.tokens[4]};
    const infer::Generated stopped = infer::Engine(*model_, {.chunk = 16}).run(r);
    EXPECT_EQ(stopped.finish, "stop");
    const auto end = static_cast<int64_t>(std::ranges::find(once.tokens, once.tokens[4]) - once.tokens.begin());
    EXPECT_EQ(stopped.record->tokens, Tokens(once.tokens.begin(), once.tokens.begin() + end + 1));
    EXPECT_EQ(stopped.tokens.size() + 1, stopped.record->tokens.size());

    // The distribution is that of a pass over the whole text.
    Tokens all = prompt;
    all.insert(all.end(), once.tokens.begin(), once.tokens.end());
    const nn::ExpertRoutes& routes = once.record->routes;
    const std::vector<double> want = scored(*model_, all, routes.empty() ? nullptr : &routes, temperature);
    for (size_t i = 0; i < once.tokens.size(); ++i)
      EXPECT_NEAR(static_cast<double>(once.record->logprobs[i]), want[prompt.size() - 1 + i], 2e-4) << i;
    const std::string family = GetParam();
    if (family.starts_with("zaya") || family.ends_with("-moe")) {
      EXPECT_EQ(routes.tokens(), static_cast<int64_t>(all.size()) - 1);
      EXPECT_EQ(std::ranges::count(routes.ids, nn::ExpertRoutes::kFree), 0);
    } else {
      EXPECT_TRUE(routes.empty());
    }
  }
}

TEST_P(EngineOn, RolloutsReplayFromTheirSeedInAnyCompany) {
  const Tokens prompt = random_tokens(20, 3);
  infer::Engine engine(*model_, {.chunk = 16});
  std::vector<infer::Engine::Id> group;
  for (uint64_t seed = 0; seed < 6; ++seed) group.push_back(engine.submit(recorded(prompt, seed)));
  while (engine.step()) {
  }
  std::set<Tokens> distinct;
  for (uint64_t seed = 0; seed < group.size(); ++seed) {
    const auto g = engine.take(group[seed]);
    const infer::Generated alone = infer::Engine(*model_, {.chunk = 16}).run(recorded(prompt, seed));
    EXPECT_EQ(g->record->tokens, alone.record->tokens) << "seed " << seed;
    distinct.insert(g->record->tokens);
  }
  EXPECT_EQ(distinct.size(), 6u);
}

// Filters change the distribution: what is left is normalized again.
TEST_P(EngineOn, FiltersShowInTheRecordedProbabilities) {
  infer::Request r = recorded(random_tokens(9, 2), 1);
  r.options.sampling.top_k = 1;
  const infer::Generated g = infer::Engine(*model_, {}).run(r);
  for (float p : g.record->logprobs) EXPECT_EQ(p, 0);
  EXPECT_LT(g.logprobs[0], -1e-3) << "under the untouched distribution it is less certain";
}

TEST_P(EngineOn, WhatIsNoPolicyIsNotRecorded) {
  infer::Engine engine(*model_, {});
  infer::Request ahead = recorded({1, 2}, 1);
  ahead.options.speculate = infer::SpeculationOptions::by_ngram(4);
  EXPECT_THROW(engine.submit(ahead), Error);
}

// What was sampled, given back token by token, has the log-probabilities and routes that it had.
TEST_P(EngineOn, ForcedTokensAreRecordedAsTheyWereSampled) {
  infer::Request r = recorded(random_tokens(9, 2), 1);
  const infer::Generated g = infer::Engine(*model_, {.exact = true}).run(r);
  r.options.forced = g.record->tokens;
  infer::Engine crowd(*model_, {.exact = true});
  for (uint64_t i = 0; i < 4; ++i) crowd.submit(recorded(random_tokens(5 + 7 * i, i), i));
  const infer::Generated again = crowd.run(r);
  EXPECT_EQ(again.record->logprobs, g.record->logprobs);
  EXPECT_EQ(again.record->routes, g.record->routes);
  kernels::set_exact_rows(false);
}

}  // namespace
}  // namespace quern
