// Thinking plans on a small random model: the special cases against loops written out here, what prompts may hold,
// and that nothing depends on how the engine interleaves the work.
#include "quern/reason/think.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "quern/base/rng.h"
#include "quern/reason/trace.h"
#include "quern/text/chat/aggregation_prompt.h"
#include "quern/text/chat/chat_prompt.h"
#include "quern/text/tokenizer/bpe_train.h"
#include "tests/models/golden.h"

namespace quern {
namespace {

using Tokens = std::vector<int32_t>;

constexpr const char* kQuestion = "What is 2 + 2?";

class Thinking : public testing::Test {
 protected:
  Thinking()
      : tokenizer_(text::Tokenizer::from_json(trained())),
        template_(text::ChatTemplate::parse(
            "{% for m in messages %}<s>{{ m.role }}: {{ m.content }}\n{% endfor %}<s>assistant: <think>\n")) {
    Json c =
        Json::parse(R"({"model_type": "llama", "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2,
      "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8, "max_position_embeddings": 4096,
      "tie_word_embeddings": true})");
    c.set("vocab_size", int64_t{tokenizer_.vocab_size()});
    model_ = models::build_model(nn::builtin_registry(), c);
    nn::initialize(*model_, 5);
    model_->pack(nn::WeightPrepacking(DType::f32));
    options_.sampling.temperature = 1;
    options_.max_tokens = 40;
    Json m = Json::object();
    m.set("role", "user"), m.set("content", kQuestion);
    messages_.push(std::move(m));
  }
  static std::string trained() {
    text::BpeTrainOptions o;
    o.vocab_size = 320, o.special_tokens = {"<s>", "</s>"};
    text::BpeTrainer t(o);
    for (const char* s :
         {"assistant: <think>\n", "user: What is the answer?\n</think>\n\nAnswer: 4\n", "Attempt 1:\nQuestion: "})
      for (int i = 0; i < 5; ++i) t.add(s);
    return t.train();
  }
  reason::ThinkResult run(const std::string& plan, int64_t sessions = 64) {
    infer::Engine engine(*model_, {.max_sequences = sessions, .tokenizer = &tokenizer_});
    return reason::think(engine, {tokenizer_, template_, messages_, reason::parse_plan(plan), options_});
  }
  // One sequence by itself, as the engine gives it.
  Tokens sampled(const Tokens& prompt, int64_t n, uint64_t seed) {
    infer::GenerateOptions o = options_;
    o.max_tokens = n, o.sampling.seed = seed;
    infer::Engine engine(*model_, {.cache_bytes = 0, .tokenizer = &tokenizer_});
    return engine.run({.prompt = prompt, .options = o}).tokens;
  }
  Tokens encode(std::string_view s) const { return tokenizer_.encode(s, {.add_special_tokens = false}); }
  Tokens question() const { return encode(text::chat_text(template_, tokenizer_, messages_)); }
  static uint64_t seed_of(uint64_t seed, uint64_t round, uint64_t index) {
    return mix64(mix64(seed + 0x51) + (round << 32) + index);
  }
  static Tokens joined(std::initializer_list<Tokens> parts) {
    Tokens all;
    for (const Tokens& p : parts) all.insert(all.end(), p.begin(), p.end());
    return all;
  }

  text::Tokenizer tokenizer_;
  text::ChatTemplate template_;
  std::unique_ptr<models::Model> model_;
  infer::GenerateOptions options_;
  Json messages_ = Json::array();
};

TEST_F(Thinking, WithoutRoundsIsParallelSampling) {
  const reason::ThinkResult t = run("vote:5,seed=3");
  ASSERT_EQ(t.candidates.size(), 5u);
  int64_t tokens = 0;
  for (const reason::Candidate& c : t.candidates) {
    // 40 tokens, of which the last ten are kept back for an answer that has to be asked for.
    const Tokens first = sampled(question(), 30, seed_of(3, 0, static_cast<uint64_t>(c.index)));
    ASSERT_EQ(first.size(), 30u) << "a random model closes nothing";
    const Tokens close = encode("\n</think>\n\n");
    const Tokens last =
        sampled(joined({question(), first, close}), 10, seed_of(3, 0, static_cast<uint64_t>(c.index)) + 1);
    EXPECT_EQ(c.tokens, joined({first, close, last}));
    EXPECT_TRUE(c.closed_by_force);
    EXPECT_EQ(c.drawn, static_cast<int64_t>(first.size() + last.size()));
    tokens += c.drawn;
  }
  EXPECT_EQ(t.new_tokens, tokens) << "what is set in between is not counted as generated";
  EXPECT_LE(t.cached_tokens, t.prompt_tokens) << "nor is what was drawn before it a cached prompt";
}

TEST_F(Thinking, OfOneCandidateIsDelethink) {
  const reason::ThinkResult t = run("delethink:3,beta=24,tau=12,seed=2");
  ASSERT_EQ(t.candidates.size(), 4u);
  Tokens carry;
  for (uint64_t round = 0; round < 3; ++round) {
    const Tokens piece = sampled(joined({question(), carry}), 24, seed_of(2, round, 0));
    EXPECT_EQ(t.candidates[round].tokens, piece) << "piece " << round;
    carry.assign(piece.end() - 12, piece.end());
    EXPECT_EQ(t.candidates[round].carried, carry);
  }
  const Tokens last = sampled(joined({question(), carry}), 18, seed_of(2, 3, 0));
  EXPECT_TRUE(std::equal(last.begin(), last.end(), t.candidates[3].tokens.begin()));
}

TEST_F(Thinking, RsaReadsWholeTraces) {
  const reason::ThinkResult t = run("rsa:4x2x1,beta=16");
  for (int64_t i = 0; i < 4; ++i) {
    const reason::Candidate& c = t.candidates[static_cast<size_t>(4 + i)];
    ASSERT_EQ(c.sources.size(), 2u);
    EXPECT_NE(c.sources[0], c.sources[1]);
    Json asked = messages_;
    const std::vector<std::string> pieces = text::aggregation_pieces(kQuestion, 2);
    const Tokens &a = t.candidates[static_cast<size_t>(c.sources[0])].tokens,
                 &b = t.candidates[static_cast<size_t>(c.sources[1])].tokens;
    EXPECT_EQ(a.size(), 16u);
    const Tokens prompt = joined(
        {encode("<s>user: " + pieces[0]), a, encode(pieces[1]), b, encode(pieces[2] + "\n<s>assistant: <think>")});
    EXPECT_EQ(c.prompt, prompt);
    const Tokens want = sampled(prompt, 12, seed_of(0, 1, static_cast<uint64_t>(i)));
    EXPECT_TRUE(std::equal(want.begin(), want.end(), c.tokens.begin())) << "candidate " << i;
  }
}

TEST_F(Thinking, PromptsHoldTheQuestionAndTailsAlone) {
  int64_t around = 0;
  for (const std::string& piece : text::aggregation_pieces("", 3))
    around += static_cast<int64_t>(encode(piece).size());
  const int64_t bound = static_cast<int64_t>(question().size()) + 3 * 8 + around + 8;
  for (const char* beta : {"beta=16", "beta=64"}) {
    const reason::ThinkResult t = run(fmt::format("mrsa:6x3x3,{},tau=8", beta));
    EXPECT_LE(t.longest_prompt, bound) << beta;
    for (const reason::Candidate& c : t.candidates) EXPECT_EQ(c.carried.size(), 8u);
  }
}

TEST_F(Thinking, DoesNotDependOnTheEnginesOrder) {
  const reason::ThinkResult wide = run("mrsa:5x3x2,beta=20,tau=10,seed=8", 64),
                            narrow = run("mrsa:5x3x2,beta=20,tau=10,seed=8", 2),
                            other = run("mrsa:5x3x2,beta=20,tau=10,seed=9", 64);
  int different = 0;
  for (size_t i = 0; i < wide.candidates.size(); ++i) {
    EXPECT_EQ(wide.candidates[i].tokens, narrow.candidates[i].tokens) << i;
    EXPECT_EQ(wide.candidates[i].sources, narrow.candidates[i].sources) << i;
    different += wide.candidates[i].tokens != other.candidates[i].tokens;
  }
  EXPECT_GT(different, 12);
}

TEST_F(Thinking, IsToldAndCancelled) {
  infer::Engine engine(*model_, {.tokenizer = &tokenizer_});
  reason::ThinkRunner t(engine,
                        {tokenizer_, template_, messages_, reason::parse_plan("mrsa:4x2x3,beta=16"), options_});
  int64_t told = 0;
  t.on_event([&](const reason::ThinkEvent& e) {
    EXPECT_GE(e.done, ++told) << "what never began is done too";
    EXPECT_EQ(e.all, 16);
    if (told == 5) t.cancel();
  });
  int steps = 0;
  for (; t.advance(); ++steps) {
    ASSERT_LT(steps, 1000);
    engine.step();
  }
  EXPECT_LT(told, 16);
  EXPECT_FALSE(engine.step()) << "nothing goes on behind it";
}

TEST_F(Thinking, TracesAreTakenApartByTokens) {
  const Tokens closed = encode("some thought</think>\n\nAnswer: 4");
  const reason::Trace t = reason::read_trace(closed, tokenizer_, infer::ThinkStart::opened);
  EXPECT_TRUE(t.closed);
  EXPECT_EQ(tokenizer_.decode(std::span(closed).subspan(0, static_cast<size_t>(t.end))), "some thought");
  EXPECT_EQ(tokenizer_.decode(std::span(closed).subspan(static_cast<size_t>(t.answer))).find("think"),
            std::string::npos);
  EXPECT_EQ(reason::tail_of(closed, t, 2).size(), 2u);
  const Tokens tagged = encode("<think>\nabc");
  const reason::Trace open = reason::read_trace(tagged, tokenizer_, infer::ThinkStart::may_open);
  EXPECT_FALSE(open.closed);
  EXPECT_EQ(open.end, static_cast<int64_t>(tagged.size()));
  EXPECT_GT(open.begin, 0);
  EXPECT_EQ(reason::read_trace(encode("plain"), tokenizer_, infer::ThinkStart::may_open).answer, 0)
      << "without a tag all of it is answer";
}

TEST_F(Thinking, AQuestionThatHoldsTheSeamIsRefused) {
  messages_.items()[0].set("content", "a \xee\x80\x80 b");
  EXPECT_THROW(run("mrsa:2x2x1,beta=8"), Error);
  EXPECT_NO_THROW(run("vote:2"));
}

}  // namespace
}  // namespace quern
