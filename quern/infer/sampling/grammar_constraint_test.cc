// Constraints behind the thinking, driven token by token.
#include "quern/infer/sampling/grammar_constraint.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace quern::infer {
namespace {

constexpr const char* kTokenizer =
    R"({"model": {"type": "BPE", "merges": [], "vocab": {"a": 0, "Ġ": 1, "7": 2, "8": 3,
  "</thin": 4, "k": 5, ">": 6, ">7": 7, ">a": 8, "<think>": 9, "Ċ7": 10}}, "added_tokens": [{"id": 11, "content":
  "</s>", "special": true}], "decoder": {"type": "ByteLevel"}})";

struct Driven {
  text::Tokenizer tokenizer = text::Tokenizer::from_json(kTokenizer);
  std::unique_ptr<TokenConstraint> c;
  explicit Driven(ThinkStart how) {
    GrammarSource source(parse_grammar(GrammarNotation::regex, "7[78]?"),
                         std::make_shared<text::TokenTrie>(tokenizer));
    c = source.with(how, 9)->start();
  }
  std::string allowed() {
    std::string ids;
    const uint64_t bits = c->allowed()[0];
    for (int t = 0; t < 12; ++t)
      if (bits >> t & 1) ids += fmt::format("{} ", t);
    for (int t = 0; t < 70; ++t)
      EXPECT_EQ(c->allows(t), t < 12 && (c->allowed()[0] >> t & 1) != 0) << "token " << t << " of " << ids;
    return ids;
  }
};

TEST(GrammarConstraint, BeginsAtOnceWithoutThinking) {
  Driven d(ThinkStart::none);
  EXPECT_EQ(d.allowed(), "2 ");
  EXPECT_FALSE(d.c->may_end());
  d.c->accept(2);
  EXPECT_EQ(d.allowed(), "2 3 ");
  EXPECT_TRUE(d.c->may_end());
  EXPECT_FALSE(d.c->finished());
  d.c->accept(3);
  EXPECT_TRUE(d.c->finished());
}

TEST(GrammarConstraint, ThinksFreelyFirst) {
  for (ThinkStart how : {ThinkStart::opened, ThinkStart::may_open}) {
    Driven d(how);
    if (how == ThinkStart::may_open) {
      EXPECT_EQ(d.allowed(), "2 9 ") << "the answer, or the thinking";
      d.c->accept(9);
    }
    EXPECT_EQ(d.allowed(), "0 1 2 3 4 5 6 7 8 9 10 ");
    for (int32_t t : {0, 6, 4, 0, 4}) d.c->accept(t);
    EXPECT_EQ(d.allowed(), "0 1 2 3 4 5 6 7 8 9 10 ");
    EXPECT_FALSE(d.c->may_end());
    d.c->accept(5);
    EXPECT_EQ(d.allowed(), "0 1 2 3 4 5 6 7 9 10 ") << "'>a' would close it and go on wrongly";
    d.c->accept(6);
    EXPECT_EQ(d.allowed(), "1 2 10 ") << "blanks may come first";
    d.c->accept(10);
    EXPECT_EQ(d.allowed(), "2 3 ");
    EXPECT_TRUE(d.c->may_end());
  }
  Driven d(ThinkStart::opened);
  for (int32_t t : {4, 5, 7}) d.c->accept(t);
  EXPECT_EQ(d.allowed(), "2 3 ") << "the token that closed the thinking began the answer";
}

// A tokenizer without a token <think>: others spell it.
struct Spelled {
  static constexpr const char* kSpelling =
      R"({"model": {"type": "BPE", "merges": [], "vocab": {"a": 0, "7": 1, "<": 2, "thin": 3, "k": 4, ">": 5,
  ">a</think>7": 6, "</think>": 7, ">a": 8, "<thin": 9}}, "added_tokens": [{"id": 10, "content": "</s>", "special": true}],
  "decoder": {"type": "ByteLevel"}})";
  text::Tokenizer tokenizer = text::Tokenizer::from_json(kSpelling);
  std::unique_ptr<TokenConstraint> c;
  explicit Spelled(const std::string& regex) {
    GrammarSource source(parse_grammar(GrammarNotation::regex, regex), std::make_shared<text::TokenTrie>(tokenizer));
    c = source.with(ThinkStart::may_spell, -1)->start();
  }
  std::string allowed() {
    std::string ids;
    const uint64_t bits = c->allowed()[0];
    for (int t = 0; t < 11; ++t) {
      if (bits >> t & 1) ids += fmt::format("{} ", t);
      EXPECT_EQ(c->allows(t), (c->allowed()[0] >> t & 1) != 0) << "token " << t << " of " << ids;
    }
    return ids;
  }
};

TEST(GrammarConstraint, ThinksBehindATagOfSeveralTokens) {
  Spelled d("7+");
  EXPECT_EQ(d.allowed(), "1 2 9 ") << "the answer, or the beginning of the tag";
  d.c->accept(9);
  EXPECT_FALSE(d.c->may_end());
  EXPECT_EQ(d.allowed(), "4 ");
  d.c->accept(4);
  EXPECT_EQ(d.allowed(), "5 8 ") << "a token that closes it at once is none";
  d.c->accept(8);
  EXPECT_EQ(d.allowed(), "0 1 2 3 4 5 6 7 8 9 ");
  d.c->accept(7);
  EXPECT_EQ(d.allowed(), "1 ");
  d.c->accept(1);
  EXPECT_TRUE(d.c->may_end());

  Spelled at_once("7+");
  at_once.c->accept(1);
  EXPECT_EQ(at_once.allowed(), "1 ");
  EXPECT_TRUE(at_once.c->may_end());
}

TEST(GrammarConstraint, LeavesATagToTheGrammarThatReadsIt) {
  Spelled d("<think>a?</think>7");
  for (int32_t t : {2, 3, 4, 5}) d.c->accept(t);
  EXPECT_EQ(d.allowed(), "0 2 7 ") << "the grammar's own thinking";
  d.c->accept(7);
  EXPECT_EQ(d.allowed(), "1 ");
  d.c->accept(1);
  EXPECT_TRUE(d.c->finished());

  Spelled other("<tha|7");
  other.c->accept(2);
  EXPECT_EQ(other.allowed(), "3 ");
  other.c->accept(3);
  EXPECT_FALSE(other.c->may_end());
  EXPECT_EQ(other.allowed(), "4 ") << "only the tag is left";
}

}  // namespace
}  // namespace quern::infer
