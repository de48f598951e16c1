// Guessing ahead on whole models: what is answered, scored and remembered is what it would have been without,
// wherever in a draft the answer ends and whatever happens beside it.
#include <gtest/gtest.h>

#include "tests/models/engine_on.h"

namespace quern {
namespace {

using Tops = std::vector<std::vector<infer::TokenLogprob>>;

void expect_near(const std::vector<double>& a, const std::vector<double>& b, double maximum) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], maximum) << i;
}

void expect_same_top(const Tops& a, const Tops& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a[i].size(), b[i].size()) << i;
    for (size_t k = 0; k < a[i].size(); ++k) {
      EXPECT_EQ(a[i][k].token, b[i][k].token) << i << " " << k;
      EXPECT_NEAR(a[i][k].logprob, b[i][k].logprob, 1e-4) << i << " " << k;
    }
  }
}

// One token after another may come, and no other.
struct Script : infer::TokenConstraint, infer::ConstraintSource {
  Tokens tokens;
  size_t count = 0;
  std::vector<uint64_t> bits = {};
  explicit Script(Tokens t) : tokens(std::move(t)) {}
  std::span<const uint64_t> allowed() override {
    const auto t = static_cast<size_t>(tokens.at(count));
    bits.assign(t / 64 + 1, 0);
    bits[t / 64] = uint64_t{1} << (t % 64);
    return bits;
  }
  bool may_end() const override { return false; }
  bool finished() const override { return false; }
  void accept(int32_t) override { ++count; }
  std::unique_ptr<infer::TokenConstraint> start() const override { return std::make_unique<Script>(tokens); }
};

// What stood in every forward, and one forward that fails when its states have moved on.
class Watched : public models::ModelWrapper {
 public:
  struct Segment {
    int64_t first, rows;  // position of the first
  };
  explicit Watched(models::Model& inner, size_t fails = SIZE_MAX) : models::ModelWrapper(inner), fails_(fails) {}
  grad::Var hidden(grad::Tape& tape, std::span<const int32_t> ids, const mixers::Batch& batch) override {
    std::vector<Segment>& now = forwards.emplace_back();
    for (size_t s = 0; s + 1 < batch.offsets.size(); ++s)
      now.push_back(
          {batch.positions[static_cast<size_t>(batch.offsets[s])], batch.offsets[s + 1] - batch.offsets[s]});
    grad::Var h = inner_.hidden(tape, ids, batch);
    if (forwards.size() - 1 == fails_) throw std::bad_alloc();
    return h;
  }
  std::vector<std::vector<Segment>> forwards;

 private:
  size_t fails_;
};

class GuessingOn : public EngineOn {
 protected:
  // A passage without repetition, something else, and the passage's beginning: 40 tokens. The answer copies the rest,
  // and until prices are measured a first draft has three tokens.
  static constexpr int64_t kPassage = 24, kBegun = 4, kPrompt = 40, kFirstDraft = 3;
  static Tokens passage(int64_t from, int64_t n) {
    Tokens t;
    for (int64_t i = from; i < from + n; ++i) t.push_back(static_cast<int32_t>((7 * i + 3) % 90));
    return t;
  }
  infer::Request copying() const {
    infer::Request r = greedy(passage(0, kPassage), kPassage - kBegun);
    const Tokens between = random_tokens(kPrompt - kPassage - kBegun, 6), begun = passage(0, kBegun);
    r.prompt.insert(r.prompt.end(), between.begin(), between.end());
    r.prompt.insert(r.prompt.end(), begun.begin(), begun.end());
    r.options.constraint = std::make_shared<Script>(passage(kBegun, kPassage - kBegun));
    r.options.speculate = infer::SpeculationOptions::by_ngram(6);
    return r;
  }
  static void expect_ended_in_first_draft(const infer::Generated& g, int64_t right) {
    EXPECT_EQ(g.tokens, passage(kBegun, 1 + right));
    EXPECT_EQ(g.speculated.steps, 1);
    EXPECT_EQ(g.speculated.all_drafted(), kFirstDraft);
    EXPECT_EQ(g.speculated.all_accepted(), right);
  }
  // A conversation goes on from what its answer left in the cache.
  void expect_to_go_on(infer::Engine& engine, const infer::Request& r, const infer::Generated& g) {
    Tokens next = r.prompt;
    next.insert(next.end(), g.tokens.begin(), g.tokens.end());
    next.push_back(1);
    const infer::Generated warm = engine.run(greedy(next, 5)),
                           cold = infer::Engine(*model_, {.cache_bytes = 0}).run(greedy(next, 5));
    EXPECT_GE(warm.cached_tokens, static_cast<int64_t>(r.prompt.size())) << warm.cache_note;
    EXPECT_EQ(warm.tokens, cold.tokens);
    expect_near(warm.logprobs, cold.logprobs, 2e-5);
  }
  // Of all tokens of a prompt but the first, from all its logits at once.
  void expect_scored(const infer::Generated& g, const Tokens& prompt, int64_t top) {
    const Tensor all = infer::all_logits(*model_, prompt);
    std::vector<double> logprobs;
    Tops tops;
    for (size_t i = 1; i < prompt.size(); ++i) {
      const Tensor row = all.narrow(0, static_cast<int64_t>(i) - 1, 1).clone();
      logprobs.push_back(infer::logprob_of(row.span<float>(), prompt[i]));
      tops.push_back(infer::top_logprobs(row.span<float>(), top));
    }
    expect_near(g.prompt_logprobs, logprobs, 1e-4);
    expect_same_top(g.prompt_top, tops);
  }
};

TEST_P(GuessingOn, GuessedAheadTheAnswerIsTheSame) {
  infer::Speculated all;
  Tokens loop = random_tokens(6, 8), prompt = random_tokens(30, 3);
  for (int i = 0; i < 4; ++i) prompt.insert(prompt.end(), loop.begin(), loop.end());
  const auto compare = [&](infer::Request r, const char* what) {
    r.options.top_logprobs = 3;
    const infer::Generated plain = infer::Engine(*model_, {.chunk = 16}).run(r);
    r.options.speculate = infer::SpeculationOptions::by_ngram(5);
    const infer::Generated g = infer::Engine(*model_, {.chunk = 16, .deterministic_prefix_cache = true})
                                   .run(r);  // guesses that no clock decides on
    EXPECT_EQ(g.tokens, plain.tokens) << what;
    EXPECT_EQ(g.finish, plain.finish) << what;
    expect_near(g.logprobs, plain.logprobs, 1e-4);
    expect_same_top(g.top, plain.top);
    for (size_t i = 0; i < g.speculated.drafted.size(); ++i)
      all.drafted[i] += g.speculated.drafted[i], all.accepted[i] += g.speculated.accepted[i];
    EXPECT_EQ(plain.speculated.steps, 0);
    return plain;
  };
  const infer::Generated plain = compare(greedy(prompt, 120), "greedy");
  // Close to the greedy answer, which repeats itself, but leaving it now and then: drafts that are partly right.
  infer::Request sampled{.prompt = prompt};
  sampled.options = {.sampling = {.temperature = 1, .top_k = 2, .seed = 5}, .max_tokens = 80};
  sampled.options.sampling.logit_bias = {{loop[0], 20}, {loop[1], 20}};  // two words in random order
  compare(sampled, "sampled");
  sampled.options.sampling.repetition_penalty = 1.1;
  sampled.options.sampling.dry.multiplier = 0.3;
  compare(sampled, "penalised");
  infer::Request grammar = greedy(prompt, 60);
  grammar.options.constraint = std::make_shared<Thirds>(false, static_cast<size_t>(model_->vocab_size() + 63) / 64);
  compare(grammar, "constrained");
  infer::Request stops = greedy(prompt, 120);
  stops.options.stop_ids = {plain.tokens[50]};
  compare(stops, "stopped");
  EXPECT_GT(all.accepted[0], 20);
  EXPECT_GT(all.accepted[2], 5);
  EXPECT_GT(all.drafted[1], all.accepted[1]) << "some are wrong";
}

TEST_P(GuessingOn, SomeGuessSomeDoNotAndConversationsGoOn) {
  infer::Engine engine(*model_, {.chunk = 16, .max_sequences = 4});
  std::vector<infer::Request> requests;
  std::vector<infer::Engine::Id> ids;
  for (size_t i = 0; i < 6; ++i) {
    Tokens prompt = random_tokens(4 + 5 * i, i), again = prompt;
    prompt.insert(prompt.end(), again.begin(), again.end());
    requests.push_back(greedy(prompt, 40));
    requests.back().options.speculate =
        infer::SpeculationOptions::by_ngram(i % 3 == 0 ? 0 : static_cast<int64_t>(2 * i));
    ids.push_back(engine.submit(requests.back()));
  }
  for (int steps = 0; engine.step(); ++steps) ASSERT_LT(steps, 1000);
  for (size_t i = 0; i < ids.size(); ++i) {
    const Tokens answer = engine.take(ids[i])->tokens;
    EXPECT_EQ(answer, by_definition(requests[i].prompt, 40)) << "request " << i;
    Tokens next = requests[i].prompt;  // goes on from what the guessing left in the cache
    next.insert(next.end(), answer.begin(), answer.end());
    next.push_back(1);
    const infer::Generated g = engine.run(greedy(next, 5)),
                           cold = infer::Engine(*model_, {.cache_bytes = 0}).run(greedy(next, 5));
    EXPECT_GE(g.cached_tokens, static_cast<int64_t>(requests[i].prompt.size())) << g.cache_note;
    EXPECT_EQ(g.tokens, cold.tokens);
    for (size_t k = 0; k < g.logprobs.size(); ++k) EXPECT_NEAR(g.logprobs[k], cold.logprobs[k], 2e-5);
  }
  EXPECT_EQ(engine.load().state_bytes, 0);
}

// A model of whose mixers none can leave its state inside a forward.
class Uncut : public models::ModelWrapper {
 public:
  using models::ModelWrapper::ModelWrapper;
  std::vector<mixers::StateSite> sites(DType kv) const override {
    std::vector<mixers::StateSite> sites = inner_.sites(kv);
    for (mixers::StateSite& s : sites)
      for (mixers::StatePart& p : s.spec.parts) p.snapshots_inside = false;
    return sites;
  }
  grad::Var hidden(grad::Tape& tape, std::span<const int32_t> ids, const mixers::Batch& batch) override {
    EXPECT_TRUE(batch.snapshot_points.empty());
    return inner_.hidden(tape, ids, batch);
  }
};

TEST_P(GuessingOn, GuessesWhereStatesCannotBeCut) {
  Uncut model(*model_);
  Tokens prompt = random_tokens(20, 3);
  prompt.insert(prompt.end(), prompt.begin(), prompt.begin() + 10);
  infer::Request r = greedy(prompt, 60);
  r.options.speculate = infer::SpeculationOptions::by_ngram(4);
  const infer::Generated g = infer::Engine(model, {.chunk = 16, .deterministic_prefix_cache = true}).run(r);
  EXPECT_GT(g.speculated.accepted[0], 3);
  EXPECT_EQ(g.tokens, by_definition(prompt, 60));
}

// Token t is spelled by a capital and a small letter.
std::string spelled(int32_t t) { return {static_cast<char>('A' + t / 26), static_cast<char>('a' + t % 26)}; }
text::Tokenizer two_letters(int64_t vocab) {
  std::string entries;
  for (int32_t t = 0; t < vocab; ++t) entries += (t > 0 ? ",\"" : "\"") + spelled(t) + "\":" + std::to_string(t);
  return text::Tokenizer::from_json(R"({"model":{"type":"BPE","vocab":{)" + entries + R"(},"merges":[]},)" +
                                    R"("decoder":{"type":"Fuse"}})");
}

TEST_P(GuessingOn, AStopStringEndsAnAnswerInsideADraft) {
  const text::Tokenizer tokenizer = two_letters(model_->vocab_size());
  const Tokens said = passage(kBegun, 3);
  infer::Request r = copying();
  r.options.stop = {spelled(said[1]).substr(1) + spelled(said[2])};  // whole with the second of three guesses
  std::string text;
  Tokens emitted;
  r.on_token = [&](const infer::Emitted& e) {
    return text += e.text, e.token >= 0 ? emitted.push_back(e.token) : void(), true;
  };
  infer::Engine engine(*model_, {.chunk = 16, .tokenizer = &tokenizer});
  const infer::Generated g = engine.run(r);
  EXPECT_EQ(g.finish, "stop");
  expect_ended_in_first_draft(g, 2);
  EXPECT_EQ(g.text, spelled(said[0]) + spelled(said[1]).substr(0, 1));
  EXPECT_EQ(text, g.text);
  EXPECT_EQ(emitted, said);
  expect_to_go_on(engine, r, g);
}

TEST_P(GuessingOn, ACallbackEndsAnAnswerInsideADraft) {
  infer::Request r = copying();
  int seen = 0;
  r.on_token = [&](const infer::Emitted&) { return ++seen < 3; };
  infer::Engine engine(*model_, {.chunk = 64});
  const infer::Request other = greedy(random_tokens(9, 2), 12);
  const infer::Engine::Id beside = engine.submit(other);
  const infer::Generated g = engine.run(r);
  EXPECT_EQ(g.finish, "cancelled");
  EXPECT_EQ(seen, 3);
  expect_ended_in_first_draft(g, 2);
  for (int steps = 0; engine.step(); ++steps) ASSERT_LT(steps, 100);
  EXPECT_EQ(engine.take(beside)->tokens, by_definition(other.prompt, 12)) << "and goes on itself";
  EXPECT_EQ(engine.load().state_bytes, 0);
  expect_to_go_on(engine, r, g);
}

TEST_P(GuessingOn, PromptsAreScoredBesideDrafts) {
  Watched model(*model_);
  infer::Engine engine(model, {.chunk = 16, .deterministic_prefix_cache = true});
  infer::Request copy = copying(), score = greedy(random_tokens(60, 12), 3);
  for (infer::Request* r : {&copy, &score}) r->options.score_prompt = true, r->options.top_logprobs = 2;
  score.options.speculate = infer::SpeculationOptions::by_ngram(6);
  const infer::Engine::Id a = engine.submit(copy);
  for (int i = 0; i < 3; ++i) engine.step();  // its prompt
  const infer::Generated scored = engine.run(score), copied = *engine.take(a);
  EXPECT_TRUE(std::any_of(model.forwards.begin(), model.forwards.end(), [](const auto& f) {
    return f.size() == 2 && f[0].rows > kFirstDraft && f[1].rows > 8;
  })) << "prompt rows behind a draft";
  expect_scored(scored, score.prompt, 2);
  expect_scored(copied, copy.prompt, 2);
  EXPECT_EQ(copied.tokens, passage(kBegun, kPassage - kBegun));
}

// Begun again from its tokens, a sequence has rows of its prompt and a draft in one step.
TEST_P(GuessingOn, PromptsAreScoredAgainAfterAFailedStep) {
  Watched model(*model_, 4);
  infer::Engine engine(model, {.chunk = 16, .deterministic_prefix_cache = true});
  infer::Request r = copying();
  r.options.score_prompt = true, r.options.top_logprobs = 2;
  const infer::Engine::Id a = engine.submit(r), b = engine.submit(greedy(random_tokens(5, 2), 12));
  for (int steps = 0; engine.step(); ++steps) ASSERT_LT(steps, 100);
  ASSERT_GT(model.forwards.size(), 5u);
  EXPECT_EQ(model.forwards[4].size(), 2u) << "or the step that fails is no other's";
  constexpr int64_t kAnswered = 2 + kFirstDraft, kLast = kPrompt / 16 * 16;
  bool drafted = false;
  for (size_t f = 5; f < model.forwards.size(); ++f)
    for (const Watched::Segment& x : model.forwards[f])
      drafted = drafted || (x.first == kLast && x.rows > kPrompt - kLast + kAnswered);
  EXPECT_TRUE(drafted) << "a draft behind the prompt's last rows";
  const infer::Generated g = *engine.take(a);
  EXPECT_EQ(g.tokens, passage(kBegun, kPassage - kBegun));
  expect_scored(g, r.prompt, 2);
  EXPECT_EQ(engine.take(b)->finish, "length");
}

INSTANTIATE_TEST_SUITE_P(Families, GuessingOn, testing::ValuesIn(kEngineFamilies), engine_family_name);

}  // namespace
}  // namespace quern
