// Free text around parts that follow a grammar, driven token by token.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "quern/infer/sampling/grammar_constraint.h"

namespace quern::infer {
namespace {

// The grammar is <c>7 or <c>8, each closed by "!"; token 6 completes the trigger and goes on wrongly, 7 rightly.
constexpr const char* kTokenizer =
    R"({"model": {"type": "BPE", "merges": [], "vocab": {"a": 0, "<c": 1, ">": 2, "7": 3, "8": 4, "!": 5, ">a": 6,
  ">7": 7, "!a": 8, "<think>": 9, "</think>": 10, "!<c>": 11}}, "decoder": {"type": "ByteLevel"}})";

struct Driven {
  text::Tokenizer tokenizer = text::Tokenizer::from_json(kTokenizer);
  std::shared_ptr<const ConstraintSource> source;
  std::unique_ptr<TokenConstraint> c;
  explicit Driven(ThinkStart start, bool once = false) {
    const GrammarSource grammar(parse_grammar(GrammarNotation::regex, "<c>[78]!"),
                                std::make_shared<text::TokenTrie>(tokenizer));
    source = grammar.triggered({.text = "<c>", .start = start, .think_token = 9, .once = once});
    c = source->start();
  }
  std::string allowed() {
    std::string ids;
    const std::vector<uint64_t> bits(c->allowed().begin(), c->allowed().end());
    for (int t = 0; t < 70; ++t) {
      const bool in =
          static_cast<size_t>(t) / 64 < bits.size() && (bits[static_cast<size_t>(t) / 64] >> (t % 64) & 1);
      EXPECT_EQ(c->allows(t), in) << "token " << t;
      if (in) ids += fmt::format("{} ", t);
    }
    return ids;
  }
  void accept(std::initializer_list<int32_t> tokens) {
    for (const int32_t t : tokens) c->accept(t);
  }
};

constexpr const char* kAll = "0 1 2 3 4 5 6 7 8 9 10 11 ";

TEST(TriggeredConstraint, WordsAreFreeAndCallsAreNot) {
  Driven d(ThinkStart::none);
  EXPECT_EQ(d.allowed(), kAll);
  d.accept({0, 2, 6, 1});
  EXPECT_EQ(d.allowed(), "0 1 2 3 4 5 7 8 9 10 11 ") << "'>a' would begin a call that the grammar does not know";
  EXPECT_TRUE(d.c->may_end());
  d.accept({2});
  EXPECT_EQ(d.allowed(), "3 4 ");
  EXPECT_FALSE(d.c->may_end()) << "inside a call";
  d.accept({3});
  EXPECT_EQ(d.allowed(), "5 ");
  d.accept({5});
  EXPECT_EQ(d.allowed(), kAll) << "words again";
  EXPECT_FALSE(d.c->finished());
  d.accept({0, 1, 7});
  EXPECT_EQ(d.allowed(), "5 ") << "a token that completed the trigger and continued";
}

TEST(TriggeredConstraint, EndsAfterTheFirstWhenThereIsOne) {
  Driven d(ThinkStart::none, true);
  d.accept({0, 1, 2, 4});
  EXPECT_FALSE(d.c->finished());
  d.accept({5});
  EXPECT_TRUE(d.c->finished());
}

TEST(TriggeredConstraint, CallsInsideTheThinkingAreThoughts) {
  for (const ThinkStart start : {ThinkStart::opened, ThinkStart::may_open}) {
    Driven d(start);
    if (start == ThinkStart::may_open) d.accept({9});
    d.accept({1, 6, 1, 2});
    EXPECT_EQ(d.allowed(), kAll);
    d.accept({10, 0, 1, 2});
    EXPECT_EQ(d.allowed(), "3 4 ");
  }
  Driven said(ThinkStart::may_open);
  said.accept({0, 1, 2});
  EXPECT_EQ(said.allowed(), "3 4 ") << "it began with words";
}

TEST(TriggeredConstraint, WhatIsForcedFromOutsideIsForgiven) {
  Driven d(ThinkStart::none);
  d.accept({1, 6});
  EXPECT_EQ(d.allowed(), kAll);
}

}  // namespace
}  // namespace quern::infer
