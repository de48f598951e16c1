// A model that guesses for another: the answer is what it would have been without, whether it guesses well, badly,
// now and then, or fails; and what it has read it does not read again.
#include <gtest/gtest.h>

#include "quern/base/test_message.h"
#include "quern/infer/speculation/draft_model.h"
#include "tests/models/engine_on.h"

namespace quern {
namespace {

// A draft model in all states of knowledge: sure of what `inner` thinks, but every n-th time of the least likely.
class Guesser : public models::ModelWrapper {
 public:
  explicit Guesser(models::Model& inner, size_t wrong_each = SIZE_MAX)
      : models::ModelWrapper(inner), wrong_each_(wrong_each) {}
  grad::Var hidden(grad::Tape& tape, std::span<const int32_t> ids, const mixers::Batch& batch) override {
    for (size_t s = 0; s + 1 < batch.offsets.size(); ++s)
      begins.push_back(batch.positions[static_cast<size_t>(batch.offsets[s])]);
    rows += static_cast<int64_t>(ids.size());
    max_texts = std::max(max_texts, batch.offsets.size() - 1);
    clock += forward_seconds;
    if (fails) throw std::bad_alloc();
    return inner_.hidden(tape, ids, batch);
  }
  grad::Var logits(grad::Tape& tape, const grad::Var& h) override {
    Tensor x = inner_.logits(tape, h).value.to(DType::f32).clone();
    const bool wrong = ++asked_ % wrong_each_ == 0;
    wrongs += wrong;
    for (float& v : x.span<float>()) v *= wrong ? -300 : 300;
    return grad::Var(x);
  }
  std::vector<int64_t> begins;  // positions of what it was fed
  int64_t rows = 0, wrongs = 0;
  size_t max_texts = 0;  // in one forward
  bool fails = false;
  double clock = 0, forward_seconds = 0.0078125;  // what a forward adds to a clock that stands still otherwise

 private:
  size_t wrong_each_, asked_ = 0;
};

class DraftOn : public EngineOn {
 protected:
  // No clock decides how far to guess.
  static infer::EngineOptions with(models::Model& draft) {
    return {.chunk = 16, .deterministic_prefix_cache = true, .draft = &draft};
  }
  infer::Request asking(size_t n_prompt, uint64_t seed, int64_t tokens, int64_t maximum = 5) const {
    infer::Request r = greedy(random_tokens(n_prompt, seed), tokens);
    r.options.speculate = infer::SpeculationOptions::by_draft(maximum);
    return r;
  }
};

TEST_P(DraftOn, TheAnswerIsTheSameHoweverWellItIsGuessed) {
  struct Case {
    size_t wrong_each;
    double minimum, maximum;  // of the guesses that are right
  };
  for (const Case& c : {Case{SIZE_MAX, 0.99, 1}, Case{3, 0.3, 0.9}, Case{1, 0, 0.3}}) {
    Guesser draft(*model_, c.wrong_each);
    infer::Request r = asking(30, 3, 80);
    const infer::Generated g = infer::Engine(*model_, with(draft)).run(r);
    EXPECT_EQ(g.tokens, by_definition(r.prompt, 80));
    const auto drafted = static_cast<double>(g.speculated.all_drafted()),
               right = static_cast<double>(g.speculated.all_accepted());
    EXPECT_GT(drafted, 0);
    EXPECT_GE(right, c.minimum * drafted) << c.wrong_each;
    EXPECT_LE(right, c.maximum * drafted) << c.wrong_each;
    if (c.wrong_each == 1) {
      EXPECT_LT(g.speculated.steps, 15) << "it is not asked in vain for ever";
    }
    if (c.wrong_each == SIZE_MAX) {
      EXPECT_LT(g.speculated.steps, 30) << "drafts grow as they come true";
    }
  }
}

// Behind a guess that was wrong it reads on as if it had never been made: no more is wrong than it meant to be, and
// nothing is read from the start again.
TEST_P(DraftOn, AWrongGuessIsForgotten) {
  for (const int64_t maximum : {2, 5}) {
    Guesser draft(*model_, 4);
    infer::Request r = asking(40, 6, 80, maximum);
    const infer::Generated g = infer::Engine(*model_, with(draft)).run(r);
    EXPECT_EQ(g.tokens, by_definition(r.prompt, 80));
    const int64_t rejected = g.speculated.all_drafted() - g.speculated.all_accepted();
    EXPECT_GT(rejected, 5);
    EXPECT_LE(rejected, maximum * draft.wrongs);
    EXPECT_LT(g.speculated.steps, 75);
    EXPECT_LT(draft.rows, 40 + 3 * 80);
  }
}

TEST_P(DraftOn, SampledWithASeedItIsTheSameToo) {
  Guesser draft(*model_, 4);
  infer::Request r = asking(25, 9, 60);
  r.options.sampling = {.temperature = 0.7, .top_p = 0.8, .seed = 11, .repetition_penalty = 1.2};
  const infer::Generated g = infer::Engine(*model_, with(draft)).run(r);
  r.options.speculate.reset();
  const infer::Generated plain = infer::Engine(*model_, {.chunk = 16}).run(r);
  EXPECT_EQ(g.tokens, plain.tokens);
  EXPECT_GT(g.speculated.all_drafted(), 0);
  ASSERT_EQ(g.logprobs.size(), plain.logprobs.size());
  for (size_t i = 0; i < g.logprobs.size(); ++i) EXPECT_NEAR(g.logprobs[i], plain.logprobs[i], 1e-4);
}

TEST_P(DraftOn, OneDrawsAsTheOther) {
  infer::Request r = asking(25, 9, 60);
  r.options.sampling = {.temperature = 1, .seed = 3};
  const infer::Generated g = infer::Engine(*model_, with(*model_)).run(r);  // the model itself
  EXPECT_EQ(g.speculated.all_accepted(), g.speculated.all_drafted());
  EXPECT_GT(g.speculated.all_drafted(), 30);
}

TEST_P(DraftOn, ManyAnswersAreGuessedInOneBatch) {
  Guesser draft(*model_, 5);
  infer::EngineOptions o = with(draft);
  o.max_sequences = 4, o.chunk = 24, o.speculate = infer::SpeculationOptions::by_draft(6);
  infer::Engine engine(*model_, o);
  std::vector<infer::Request> requests;
  std::vector<infer::Engine::Id> ids;
  for (size_t i = 0; i < 6; ++i) {
    requests.push_back(
        greedy(random_tokens(5 + 9 * i, i), 30 + static_cast<int64_t>(i)));  // some longer than a chunk
    if (i == 2) requests[i].options.speculate = infer::SpeculationOptions{};
    if (i == 4) requests[i].options.speculate = infer::SpeculationOptions::by_ngram(3);
    ids.push_back(engine.submit(requests[i]));
  }
  for (int steps = 0; engine.step(); ++steps) {
    ASSERT_LT(steps, 1000);
    if (steps == 12) engine.cancel(ids[1]);
  }
  for (size_t i = 0; i < ids.size(); ++i) {
    const infer::Generated g = *engine.take(ids[i]);
    Tokens want = by_definition(requests[i].prompt, requests[i].options.max_tokens);
    if (i == 1) want.resize(std::min(want.size(), g.tokens.size()));
    EXPECT_EQ(g.tokens, want) << "request " << i;
    if (i == 2) {
      EXPECT_EQ(g.speculated.steps, 0);
    } else if (i != 1 && i != 4) {
      EXPECT_GT(g.speculated.all_accepted(), 5) << "request " << i;
    }
  }
  EXPECT_GT(draft.max_texts, 1u);
  EXPECT_EQ(engine.load().state_bytes, 0);
}

TEST_P(DraftOn, WhatItHasReadItDoesNotReadAgain) {
  Guesser draft(*model_);
  infer::EngineOptions o = with(draft);
  o.deterministic_prefix_cache = false;
  infer::Engine engine(*model_, o);
  infer::Request r = asking(50, 3, 40);
  const infer::Generated first = engine.run(r);
  EXPECT_GT(engine.load().cache_bytes, engine.cache().bytes()) << "it has a share";
  r.prompt.insert(r.prompt.end(), first.tokens.begin(), first.tokens.end());
  r.prompt.push_back(1);
  draft.begins.clear();
  const infer::Generated second = engine.run(r);
  EXPECT_EQ(second.tokens, by_definition(r.prompt, 40));
  ASSERT_FALSE(draft.begins.empty());
  EXPECT_GE(*std::min_element(draft.begins.begin(), draft.begins.end()), 60);
}

TEST_P(DraftOn, ADraftModelThatFailsCostsNoAnswer) {
  Guesser draft(*model_);
  infer::Engine engine(*model_, with(draft));
  infer::Request r = asking(20, 3, 40);
  int seen = 0;
  r.on_token = [&](const infer::Emitted&) { return draft.fails = ++seen > 10, true; };
  const infer::Generated g = engine.run(r);
  EXPECT_EQ(g.tokens, by_definition(r.prompt, 40));
  const int64_t guessed = g.speculated.all_accepted();
  EXPECT_GT(guessed, 0);
  EXPECT_LT(guessed, 20);
  draft.fails = false;
  r.on_token = nullptr;
  EXPECT_GT(engine.run(r).speculated.all_accepted(), 20) << "another answer asks it again";
}

TEST_P(DraftOn, ItNeedsAWordOfWhoGuesses) {
  infer::Engine without(*model_, {});
  infer::Request r = asking(5, 1, 5);
  EXPECT_NE(message_of([&] { without.submit(r); }).find("no draft model"), std::string::npos);
  r.options.speculate = infer::SpeculationOptions{.max_draft = 4};
  EXPECT_NE(message_of([&] { without.submit(r); }).find("no draft source"), std::string::npos);
}

// Heads that are padded to more rows, or fewer.
class Padded : public Guesser {
 public:
  Padded(models::Model& inner, int64_t more) : Guesser(inner), more_(more) {}
  int64_t vocab_size() const override { return inner_.vocab_size() + more_; }
  grad::Var logits(grad::Tape& tape, const grad::Var& h) override {
    const Tensor x = Guesser::logits(tape, h).value;
    if (more_ < 0) return grad::Var(x.narrow(1, 0, vocab_size()).clone());
    Tensor wide = Tensor::full({x.dim(0), vocab_size()}, DType::f32, 1e6);  // a padding row may say anything
    wide.narrow(1, 0, x.dim(1)).copy_from(x);
    return grad::Var(wide);
  }

 private:
  int64_t more_;
};

TEST_P(DraftOn, HeadsMayBePaddedDifferently) {
  for (const int64_t more : {-1, 5}) {
    Padded draft(*model_, more);
    infer::Request r = asking(20, 3, 40);
    r.options.sampling.logit_bias = {{static_cast<int32_t>(model_->vocab_size() - 1), -2.0}};  // beyond the shorter
    r.options.sampling.top_n_sigma = 3, r.options.sampling.temperature = 1e-4;
    const infer::Generated g = infer::Engine(*model_, with(draft)).run(r);
    r.options.speculate.reset();
    EXPECT_EQ(g.tokens, infer::Engine(*model_, {.chunk = 16}).run(r).tokens);
    EXPECT_GT(g.speculated.all_accepted(), 5) << more;
  }
}

// A forward that stood still makes a token dearer by a quarter, not for ever.
TEST_P(DraftOn, WhatATokenCostsIsNotDecidedByOneForward) {
  Guesser slow(*model_);
  infer::DraftModel draft(slow, DType::f32, 0, [&] { return slow.clock; });
  infer::DraftReader reader;
  infer::Sampler sampler({.temperature = 0});
  Tokens text = random_tokens(12, 4);
  const auto guess = [&] {
    infer::DraftRequest ask{.reader = reader,
                            .tokens = text,
                            .sampler = sampler,
                            .stop_ids = {},
                            .max_draft = 1,
                            .max_length = 40,
                            .token_cost = 1};
    draft.make_drafts(std::span(&ask, 1), 100, model_->vocab_size());
    ASSERT_EQ(ask.draft.size(), 1u);
    text.push_back(ask.draft[0]);
  };
  const double usual = slow.forward_seconds;  // powers of two: sums and shares of them are exact
  slow.forward_seconds = 32 * usual;
  guess();
  EXPECT_EQ(draft.seconds_each(), 0) << "the first forward says nothing";
  slow.forward_seconds = usual;
  guess();
  EXPECT_EQ(draft.seconds_each(), usual);
  slow.forward_seconds = 32 * usual;
  guess();
  EXPECT_EQ(draft.seconds_each(), 1.25 * usual);
}

TEST_P(DraftOn, ALongTextIsNotReadForLittle) {
  Guesser draft(*model_);
  infer::Request r = asking(300, 3, 4);  // two tokens it could guess, one of which may come true
  const infer::Generated g = infer::Engine(*model_, with(draft)).run(r);
  EXPECT_EQ(draft.rows, 0);
  EXPECT_EQ(g.tokens, by_definition(r.prompt, 4));
  r.options.max_tokens = 20;
  infer::Engine(*model_, with(draft)).run(r);
  EXPECT_GT(draft.rows, 200) << "a chunk of 16 a step";
}

TEST_P(DraftOn, ATokenItHasNoRowForKeepsItSilent) {
  Padded draft(*model_, -1);
  infer::Request r = asking(20, 3, 20);
  r.prompt[7] = static_cast<int32_t>(model_->vocab_size() - 1);
  const infer::Generated g = infer::Engine(*model_, with(draft)).run(r);
  EXPECT_EQ(draft.rows, 0);
  EXPECT_EQ(g.tokens, by_definition(r.prompt, 20));
}

TEST_P(DraftOn, WhatIsKnownOfItIsHandedOn) {
  Guesser draft(*model_, 1);  // always wrong
  infer::EngineOptions o = with(draft);
  o.deterministic_prefix_cache = false;
  infer::Engine engine(*model_, o);
  for (uint64_t i = 0; i < 3; ++i) engine.run(asking(20, i, 60));
  EXPECT_LE(engine.run(asking(20, 9, 28)).speculated.steps, 0) << "it waits for 32 tokens";
}

// A draft model of another family, with states of its own kind.
TEST_P(DraftOn, AnotherFamilyMayGuess) {
  auto other = models::build_model(nn::builtin_registry(),
                                   Json::parse(fmt::format(R"({{"model_type": "hybrid", "vocab_size": {},
    "hidden_size": 16, "intermediate_size": 24, "mixers": {{"delta": {{"type": "gated_delta", "n_head": 1, "head_dim": 16}}}},
    "layers": ["delta"]}})",
                                                           model_->vocab_size())));
  nn::initialize(*other, 9);
  other->pack(nn::WeightPrepacking(DType::f32));
  Guesser sure(*other);
  infer::Request r = asking(40, 5, 60);
  const infer::Generated g = infer::Engine(*model_, with(sure)).run(r);
  EXPECT_EQ(g.tokens, by_definition(r.prompt, 60));
  EXPECT_GT(g.speculated.all_drafted(), 0);
}

INSTANTIATE_TEST_SUITE_P(Families, DraftOn, testing::ValuesIn(kEngineFamilies), engine_family_name);

}  // namespace
}  // namespace quern
