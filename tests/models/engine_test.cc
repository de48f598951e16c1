// The engine on whole models: many requests at once answer as each would alone, whatever is cached, cancelled or
// failing beside them.
#include <gtest/gtest.h>

#include <algorithm>

#include "quern/base/test_message.h"
#include "tests/models/engine_on.h"

namespace quern {
namespace {

TEST_P(EngineOn, ManyAtOnceAnswerAsEachAlone) {
  infer::Engine engine(*model_, {.chunk = 16, .max_sequences = 3});
  std::vector<Tokens> prompts;
  std::vector<infer::Engine::Id> ids;
  for (size_t i = 0; i < 7; ++i) {
    prompts.push_back(random_tokens(1 + 9 * i, i));
    ids.push_back(engine.submit(greedy(prompts.back(), 6)));
  }
  int64_t maximum = 0;
  for (int steps = 0; engine.step(); ++steps) {
    ASSERT_LT(steps, 500);
    maximum = std::max(maximum, engine.load().running);
  }
  EXPECT_EQ(maximum, 3);
  for (size_t i = 0; i < ids.size(); ++i) {
    auto g = engine.take(ids[i]);
    ASSERT_TRUE(g);
    EXPECT_EQ(g->finish, "length");
    EXPECT_EQ(g->tokens, by_definition(prompts[i], 6)) << "request " << i;
    EXPECT_FALSE(engine.take(ids[i])) << "a result is taken once";
  }
}

// Twelve rows a step, shared by the threads, beside a prompt of several hundred.
TEST_P(EngineOn, WideStepsAnswerAsEachAlone) {
  infer::Engine engine(*model_, {.max_sequences = 12});
  std::vector<Tokens> prompts;
  std::vector<infer::Engine::Id> ids;
  for (size_t i = 0; i < 13; ++i) {
    prompts.push_back(random_tokens(i == 11 ? 230 : 1 + 3 * i, 50 + i));
    ids.push_back(engine.submit(greedy(prompts.back(), 5)));
  }
  for (int steps = 0; engine.step(); ++steps) ASSERT_LT(steps, 500);
  for (size_t i = 0; i < ids.size(); ++i)
    EXPECT_EQ(engine.take(ids[i])->tokens, by_definition(prompts[i], 5)) << "request " << i;
}

TEST_P(EngineOn, SampledAnswersDoNotDependOnTheCompany) {
  infer::Request r{.prompt = random_tokens(20, 4)};
  r.options = {.sampling = {.top_k = 20, .seed = 11}, .max_tokens = 10};
  infer::Engine alone(*model_, {.chunk = 16});
  Tokens want = alone.run(r).tokens;
  infer::Engine crowd(*model_, {.chunk = 16});
  for (uint64_t i = 0; i < 5; ++i) crowd.submit(greedy(random_tokens(5 + 7 * i, i), 12));
  EXPECT_EQ(crowd.run(r).tokens, want);
}

TEST_P(EngineOn, ForcedTokensReportTheModelsLogprobs) {
  Tokens prompt = random_tokens(9, 1), forced = random_tokens(5, 2), text = prompt;
  infer::Request r = greedy(prompt, 8);
  r.options.forced = forced;
  r.options.top_logprobs = 2;
  infer::Generated g = infer::Engine(*model_, {}).run(r);
  ASSERT_EQ(g.tokens.size(), 8u);
  EXPECT_TRUE(std::equal(forced.begin(), forced.end(), g.tokens.begin()));
  text.insert(text.end(), g.tokens.begin(), g.tokens.end());
  Tensor all = infer::all_logits(*model_, text);
  for (size_t i = 0; i < g.tokens.size(); ++i) {
    Tensor row = all.narrow(0, static_cast<int64_t>(prompt.size() + i) - 1, 1).clone();
    EXPECT_NEAR(g.logprobs[i], infer::logprob_of(row.span<float>(), g.tokens[i]), 1e-4);
    EXPECT_EQ(g.top[i].size(), 2u);
  }
  for (size_t i = forced.size(); i < 8; ++i) EXPECT_EQ(g.top[i][0].token, g.tokens[i]) << "free and greedy from here";
}

TEST_P(EngineOn, AGreedyAnswerTakesTheLikeliestTokenAllowed) {
  const Tokens prompt = random_tokens(12, 3);
  const auto words = static_cast<size_t>(model_->vocab_size() + 63) / 64;
  Tokens text = prompt, expected;
  bool refused = false;
  for (size_t i = 0; i < 8; ++i) {
    Tensor all = infer::all_logits(*model_, text), last = all.narrow(0, all.dim(0) - 1, 1).clone();
    auto x = last.span<float>();
    refused = refused || Thirds::banned(std::max_element(x.begin(), x.end()) - x.begin(), i);
    for (size_t t = 0; t < x.size(); ++t)
      if (Thirds::banned(static_cast<int64_t>(t), i)) x[t] = -1e30f;
    expected.push_back(static_cast<int32_t>(std::max_element(x.begin(), x.end()) - x.begin()));
    text.push_back(expected.back());
  }
  EXPECT_TRUE(refused) << "or the constraint is not tried";
  for (const bool unsure : {false, true}) {
    infer::Engine engine(*model_, {});
    infer::Request r = greedy(prompt, 8);
    r.options.constraint = std::make_shared<Thirds>(unsure, words);
    EXPECT_EQ(engine.run(std::move(r)).tokens, expected) << "unsure " << unsure;
  }
}

TEST_P(EngineOn, CachedAndColdAreBitIdenticalAtExactCuts) {
  Tokens first = random_tokens(150, 5), second = first;
  second.resize(135);
  Tokens rest = random_tokens(15, 6);
  second.insert(second.end(), rest.begin(), rest.end());
  infer::EngineOptions o{.chunk = 16, .deterministic_prefix_cache = true};
  infer::Request r = greedy(second, 6);
  infer::Generated cold = infer::Engine(*model_, o).run(r);
  EXPECT_EQ(cold.cached_tokens, 0);
  infer::Engine warm(*model_, o);
  warm.run(greedy(first, 4));
  infer::Generated g = warm.run(r);
  EXPECT_EQ(g.cached_tokens, 128);
  EXPECT_EQ(g.recomputed_tokens, 22);
  EXPECT_EQ(g.tokens, cold.tokens);
  EXPECT_EQ(g.logprobs, cold.logprobs) << "bit for bit";
}

TEST_P(EngineOn, TurnsAndJunctionsAreResumed) {
  bool recurrent = infer::PrefixCache(model_->sites(DType::f32), 1).needs_snapshots();
  infer::Engine engine(*model_, {.chunk = 512});
  Tokens system = random_tokens(100, 1), a = system, b = system, c = system;
  for (auto [text, seed] : {std::pair{&a, 2}, {&b, 3}, {&c, 4}}) {
    Tokens tail = random_tokens(40, static_cast<uint64_t>(seed));
    text->insert(text->end(), tail.begin(), tail.end());
  }
  auto close = [&](const infer::Generated& g, const Tokens& prompt) {
    infer::Generated cold = infer::Engine(*model_, {.cache_bytes = 0}).run(greedy(prompt, 5));
    EXPECT_EQ(g.tokens, cold.tokens);
    for (size_t i = 0; i < g.logprobs.size(); ++i) EXPECT_NEAR(g.logprobs[i], cold.logprobs[i], 2e-5);
  };
  infer::Generated ga = engine.run(greedy(a, 5));
  EXPECT_EQ(ga.cached_tokens, 0);
  infer::Generated gb = engine.run(greedy(b, 5));  // leaves a's path at 100: a recurrent state was not kept there
  EXPECT_EQ(gb.cached_tokens, recurrent ? 64 : 100);
  EXPECT_NE(gb.cache_note.find(recurrent ? "nearest snapshot" : "part from this one after token 100"),
            std::string::npos)
      << gb.cache_note;
  close(gb, b);
  infer::Generated gc = engine.run(greedy(c, 5));  // but b left one at the junction
  EXPECT_EQ(gc.cached_tokens, 100) << gc.cache_note;
  close(gc, c);
  Tokens next = a;  // a conversation goes on after its answer
  next.insert(next.end(), ga.tokens.begin(), ga.tokens.end());
  Tokens question = random_tokens(10, 9);
  next.insert(next.end(), question.begin(), question.end());
  infer::Generated gn = engine.run(greedy(next, 5));
  EXPECT_EQ(gn.cached_tokens, static_cast<int64_t>(a.size()) + 4) << "all but the last token of the answer was fed";
  close(gn, next);
  infer::Generated again = engine.run(greedy(a, 5));
  EXPECT_EQ(again.recomputed_tokens, 1) << again.cache_note;
  EXPECT_EQ(again.tokens, ga.tokens);
  infer::Request marked = greedy(random_tokens(60, 20), 3);
  marked.turn_ends = {25};
  engine.run(marked);
  Tokens other(marked.prompt.begin(), marked.prompt.begin() + 30);
  other.push_back(marked.prompt[30] == 1 ? 2 : 1);
  EXPECT_EQ(engine.run(greedy(other, 3)).cached_tokens, recurrent ? 25 : 30);
}

TEST_P(EngineOn, CancelledBetweenSteps) {
  infer::Engine engine(*model_, {.chunk = 16});
  infer::Request r = greedy(random_tokens(8, 1), 50);
  int seen = 0;
  r.on_token = [&](const infer::Emitted&) { return ++seen < 3; };
  infer::Generated g = engine.run(r);
  EXPECT_EQ(g.finish, "cancelled");
  EXPECT_EQ(g.tokens.size(), 3u);
  infer::Engine::Id long_prompt = engine.submit(greedy(random_tokens(100, 2), 5)),
                    kept = engine.submit(greedy(r.prompt, 4));
  engine.step();
  engine.cancel(long_prompt);
  engine.cancel(12345);
  while (engine.step()) {
  }
  EXPECT_EQ(engine.take(long_prompt)->finish, "cancelled");
  EXPECT_EQ(engine.take(kept)->tokens, by_definition(r.prompt, 4));
  EXPECT_EQ(engine.load().running, 0);
  EXPECT_EQ(engine.load().state_bytes, 0);
}

INSTANTIATE_TEST_SUITE_P(Families, EngineOn, testing::ValuesIn(kEngineFamilies), engine_family_name);

// Fails half-way through a forward that holds a certain token: some layers have seen the batch, some have not.
class Fragile : public models::ModelWrapper {
 public:
  Fragile(models::Model& inner, int32_t bad) : models::ModelWrapper(inner), bad_(bad) {}
  grad::Var hidden(grad::Tape& tape, std::span<const int32_t> ids, const mixers::Batch& batch) override {
    grad::Var h = inner_.hidden(tape, ids, batch);  // the states have moved on by now
    if (std::find(ids.begin(), ids.end(), bad_) != ids.end()) throw std::bad_alloc();
    return h;
  }

 private:
  int32_t bad_;
};

TEST(EngineFailures, OneRequestFailsTheOthersAnswer) {
  Golden golden("zaya-2-4x2");
  auto model = load_golden(golden, DType::f32, true);
  int32_t bad = static_cast<int32_t>(model->vocab_size()) - 1;
  Fragile fragile(*model, bad);
  auto request = [](Tokens prompt) {
    infer::Request r{.prompt = std::move(prompt)};
    r.options = {.sampling = {.temperature = 0, .logit_bias = {}}, .max_tokens = 5};
    return r;
  };
  Tokens good = {1, 2, 3, 4, 5}, doomed = {6, 7, bad, 8};
  infer::Engine engine(fragile, {.chunk = 16}), sound(*model, {.chunk = 16});
  Tokens want = sound.run(request(good)).tokens;
  infer::Engine::Id a = engine.submit(request(good)), b = engine.submit(request(doomed)),
                    c = engine.submit(request(good));
  for (int i = 0; engine.step(); ++i) ASSERT_LT(i, 100);
  infer::Generated failed = *engine.take(b);
  EXPECT_EQ(failed.finish, "error");
  EXPECT_NE(failed.error.find("out of memory"), std::string::npos) << failed.error;
  EXPECT_EQ(engine.take(a)->tokens, want);
  EXPECT_EQ(engine.take(c)->tokens, want);
  EXPECT_EQ(engine.run(request(good)).tokens, want) << "and the engine goes on";
}

TEST(EngineFailures, RequestsThatCannotBeServedAreRefused) {
  Golden golden("llama-gqa");
  auto model = load_golden(golden, DType::f32, true);
  infer::Engine engine(*model, {.state_bytes = 64 << 10});
  auto refused = [&](infer::Request r) { return message_of([&] { engine.submit(std::move(r)); }); };
  auto with = [](Tokens prompt, int64_t n) {
    infer::Request r{.prompt = std::move(prompt)};
    r.options.max_tokens = n;
    return r;
  };
  EXPECT_NE(refused(with({}, 1)).find("prompt is empty"), std::string::npos);
  EXPECT_NE(refused(with({1, 9999}, 1)).find("prompt token 9999 at position 1"), std::string::npos);
  EXPECT_NE(refused(with({1}, 0)).find("max_tokens 0"), std::string::npos);
  EXPECT_NE(refused(with(Tokens(5000, 1), 1)).find("this model's limit is"), std::string::npos);
  EXPECT_NE(refused(with(Tokens(400, 1), 600)).find("the limit is 0 MiB"), std::string::npos);
  infer::Request stops = with({1}, 1);
  stops.options.stop = {"x"};
  EXPECT_NE(refused(stops).find("need a tokenizer"), std::string::npos);
  infer::Request far = with({1}, 1);
  far.options.speculate = infer::SpeculationOptions::by_ngram(17);
  EXPECT_NE(refused(far).find("draft length 17: expected 1 to 16"), std::string::npos);
  // Two that fit alone but not together take turns.
  infer::Request half = with(Tokens(20, 1), 20);
  infer::Engine::Id a = engine.submit(half), b = engine.submit(half), c = engine.submit(half);
  int64_t maximum = 0;
  while (engine.step()) maximum = std::max(maximum, engine.load().state_bytes);
  EXPECT_LE(maximum, 64 << 10);
  for (infer::Engine::Id id : {a, b, c}) EXPECT_EQ(engine.take(id)->finish, "length");
}

}  // namespace
}  // namespace quern
