// Grammars: what they accept against std::regex and a validator written for this test, masks against trying every
// token, complaints with their places, and hostile grammars, which must end at once.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <regex>
#include <set>

#include "quern/base/error.h"
#include "quern/base/rng.h"
#include "quern/text/grammar/machine.h"
#include "quern/text/grammar/parse.h"
#include "quern/text/tokenizer/bpe_train.h"
#include "quern/text/unicode/utf8.h"

namespace quern::text {
namespace {

std::shared_ptr<const TokenTrie> small_trie() {
  static const auto trie = [] {
    BpeTrainOptions o;
    o.vocab_size = 600, o.special_tokens = {"<s>", "</s>"};
    BpeTrainer t(o);
    for (int i = 0; i < 5; ++i)
      t.add(
          "{\"name\": \"value\", \"list\": [1, 2, 30], \"größe\": null, \"true\": false} the quick brown fox é 漢字 "
          "2024-10-12T10:11:12Z 0.25e-10\n");
    return std::make_shared<const TokenTrie>(Tokenizer::from_json(t.train()));
  }();
  return trie;
}

GrammarMachine machine(Grammar g) {
  return GrammarMachine(std::make_shared<const Grammar>(std::move(g)), small_trie());
}

bool accepts(GrammarMachine& m, std::string_view text) {
  const GrammarMachine::State s = m.read(m.start(), text);
  return s != GrammarMachine::kDead && m.may_end(s);
}

// A random walk; brackets and quotes are closed early so that it ends. Empty when it grew too long.
std::optional<std::string> sample(GrammarMachine& m, Rng& rng) {
  std::string text;
  GrammarMachine::State s = m.start();
  while (text.size() < 4000) {
    if (m.must_end(s) || (m.may_end(s) && rng.below(3) == 0)) return text;
    std::vector<char> next, closing;
    for (int b = 0; b < 256; ++b) {
      if (m.step(s, static_cast<unsigned char>(b)) == GrammarMachine::kDead) continue;
      next.push_back(static_cast<char>(b));
      if (std::string_view("\"]},").find(static_cast<char>(b)) != std::string_view::npos)
        closing.push_back(static_cast<char>(b));
    }
    if (next.empty()) {
      ADD_FAILURE() << "a state that can neither go on nor end, behind " << text;
      return std::nullopt;
    }
    const std::vector<char>& from = !closing.empty() && rng.below(4) == 0 ? closing : next;
    text += from[rng.below(from.size())];
    s = m.step(s, static_cast<unsigned char>(text.back()));
  }
  return std::nullopt;
}

template <class F>
std::string refusal(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "(accepted)";
}

TEST(Gbnf, Accepts) {
  GrammarMachine m = machine(parse_gbnf(R"(# lists of words
root ::= "[" (item ("," item)*)? "]"
item ::= word{2,3} | [0-9]+ "\x21\u00e9"  # with an escape
word ::= [a-c^\]é漢-]
       | "x" root)"));
  for (const char* yes : {"[]", "[ab]", "[abc,12!é]", "[é漢,]]]", "[-^]", "[ax[]b]"})
    EXPECT_TRUE(accepts(m, yes)) << yes;
  for (const char* no : {"", "[", "[a]", "[abca]", "[ab,]", "[12]", "[dd]", "[漣漣]"})
    EXPECT_FALSE(accepts(m, no)) << no;
  GrammarMachine any = machine(parse_gbnf("root ::= [^a]* .?"));
  EXPECT_TRUE(accepts(any, "béç🙂a"));
  EXPECT_FALSE(accepts(any, "b\xff"));
  EXPECT_FALSE(accepts(any, "\xed\xa0\x80")) << "a surrogate";
  EXPECT_FALSE(accepts(any, "ab"));
}

TEST(Gbnf, ComplaintsNameThePlace) {
  const std::vector<std::pair<const char*, const char*>> cases = {
      {"root ::= \"a\n", "line 1 column 10: the text in quotes is never closed"},
      {"root ::= a\nb ::= \"x\"", "line 1 column 10: rule 'a' is used here"},
      {"root ::= \"a\"\nroot ::= \"b\"", "line 2 column 1: rule 'root' is defined twice"},
      {"a ::= \"a\"", "no rule named root"},
      {"root ::= (\"a\" | \"b\"", "line 1 column 10: '(' is never closed"},
      {"root ::= \"a\")", "line 1 column 13: ')' without '('"},
      {"root ::= [z-a]", "line 1 column 11: the range runs backwards"},
      {"root ::= [a", "line 1 column 10: '[' is never closed"},
      {"root ::= \"\\q\"", "line 1 column 12: an escape"},
      {"root ::= \"é\" %", "line 1 column 14: '%'"},
      {"root = \"a\"", "line 1 column 6: expected ::="},
      {"root ::= \"a\"{3,2}", "line 1 column 13: repetition from 3 to 2"},
      {"root ::= \"a\"{x}", "expected a number"},
      {"root ::= \"a\" \xff", "not valid UTF-8"}};
  for (const auto& [text, what] : cases) {
    const std::string said = refusal([&, t = text] { parse_gbnf(t); });
    EXPECT_NE(said.find(what), said.npos) << text << "\n  said " << said;
  }
}

TEST(Gbnf, HostileOnesEnd) {
  const auto said = [](const std::string& text) {
    return refusal([&] {
      GrammarMachine m = machine(parse_gbnf(text));
      GrammarMachine::State s = m.start();
      for (int i = 0; i < 64 && s != GrammarMachine::kDead; ++i) m.mask(s), s = m.step(s, 'a');
    });
  };
  const auto has = [&](const std::string& text, const char* what) {
    const std::string s = said(text);
    EXPECT_NE(s.find(what), s.npos) << text.substr(0, 80) << "\n  said " << s;
  };
  has("root ::= root \"a\" | \"b\"", "rule 'root' is left-recursive");
  has("root ::= a\na ::= b? c \"x\" | \"y\"\nb ::= \"b\"\nc ::= a", "left-recursive");
  has("root ::= root", "can never end");
  has("root ::= \"a\" b\nb ::= \"b\" root", "can never end");
  has("root ::= \"a\"{1000000}", "at most 65536");
  has("root ::= \"a\"{99999999999999999999}", "too large");
  has("root ::= " + std::string(100000, '('), "parentheses");
  has("root ::= ((((\"a\"{60000}){60000}){60000}){60000}){60000} \"a\"{65536} [b]{65536,65536} \"c\"{0,65536} "
      "\"d\"{0,65536} \"e\"{0,65536} \"f\"{0,65536} \"g\"{0,65536}",
      "elements");
  has("root ::= (\"a\"?){60000}", "too ambiguous");
  has("root ::= \"a\" root \"b\" | \"a\" root \"c\" | \"d\"", "too ambiguous");  // 2ⁿ stacks
  EXPECT_EQ(said("root ::= (\"a\"?)*"), "(accepted)") << "a loop over nothing is harmless";
  EXPECT_EQ(said("root ::= ((\"a\"{200}){200}){200}"), "(accepted)") << "eight million, counted in six hundred";
  std::string chain = "root ::= r0\n";
  for (int i = 0; i < 100000; ++i) chain += fmt::format("r{} ::= r{}\n", i, i + 1);
  has(chain + "r100000 ::= \"a\"", "too ambiguous");
}

TEST(GrammarRegex, AgreesWithStdRegex) {
  Rng rng(7);
  for (const char* pattern :
       {"abc", "a|bc|", "(ab|a)*c?", "[a-c]{2,4}x", "[^a-y]+", "\\d{3}-\\d{4}", "\\w+@\\w+\\.(com|org)", "a.c",
        "(?:x{0,3}y){2}", "[\\w-]+", "a+?b", "\\$\\(\\)[\\]\\\\]", "^ab$", "(a|b)*abb", "\\s?x\\S", "[\\d.]{1,5}"}) {
    GrammarMachine m = machine(parse_regex_grammar(pattern));
    const std::regex oracle(pattern);
    int matched = 0;
    for (int i = 0; i < 300; ++i) {
      std::optional<std::string> text = sample(m, rng);
      if (!text) continue;
      const bool ascii = std::all_of(text->begin(), text->end(), [](char c) { return (c & 0x80) == 0 && c != 0; });
      if (!ascii || text->size() > 500) continue;  // std::regex reads bytes, and recursively
      EXPECT_TRUE(std::regex_match(*text, oracle)) << pattern << " made " << *text;
      ++matched;
      std::string other = *text;  // and what is nearly right
      const char c = "abcxyz01-. $@"[rng.below(13)];
      if (other.empty() || rng.below(2) == 0)
        other.insert(rng.below(other.size() + 1), 1, c);
      else
        other[rng.below(other.size())] = c;
      EXPECT_EQ(accepts(m, other), std::regex_match(other, oracle)) << pattern << " and " << other;
    }
    EXPECT_GT(matched, 10) << pattern;
  }
}

TEST(GrammarRegex, RefusesWhatItCannot) {
  const std::vector<std::pair<const char*, const char*>> cases = {
      {"a(?=b)", "column 3"}, {"(a)\\1", "'\\1'"},
      {"a\\b", "'\\b'"},      {"(ab", "column 1: '(' is never closed"},
      {"ab)", "column 3"},    {"*a", "nothing to repeat"},
      {"a{2,1}", "smaller"},  {"[b-a]", "column 2"},
      {"[", "never closed"},  {"a^b", "'^'"},
      {"a**", "two rep"},     {"é[]", "column 3: an empty set"}};
  for (const auto& [text, what] : cases) {
    const std::string said = refusal([&, t = text] { parse_regex_grammar(t); });
    EXPECT_NE(said.find(what), said.npos) << text << "\n  said " << said;
  }
}

TEST(GrammarMasks, TokensAreSpelledAsTheyDecode) {
  const char* gemma_like = R"({"model": {"type": "BPE", "byte_fallback": true, "merges": [], "vocab": {"a": 0, "▁": 1,
    "▁▁b": 2, "<0x0A>": 3, "<0xE4>": 4, "é": 5, "<0xzz>": 6}}, "decoder": {"type": "Sequence", "decoders": [{"type":
    "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"}]}})";
  const Tokenizer t = Tokenizer::from_json(gemma_like);
  const TokenSpelling s(t);
  const std::vector<std::string> expected = {"a", " ", "  b", "\n", "\xE4", "é", "<0xzz>"};
  for (int32_t id = 0; id < t.vocab_size(); ++id) {
    EXPECT_EQ(s.bytes(id), expected[static_cast<size_t>(id)]);
    EXPECT_EQ(s.decoded(id), expected[static_cast<size_t>(id)]);
  }
  std::set<std::string> bytes;  // the small byte-level vocabulary: every byte has a token
  for (int32_t id = 0; id < small_trie()->size(); ++id) bytes.insert(small_trie()->bytes(id));
  for (int b = 0; b < 256; ++b) EXPECT_TRUE(bytes.contains(std::string(1, static_cast<char>(b)))) << b;
}

TEST(GrammarMasks, AreWhatTryingEveryTokenGives) {
  GrammarMachine m = machine(parse_json_schema(Json(true)));
  Rng rng(3);
  int checked = 0;
  for (int round = 0; round < 30; ++round) {
    GrammarMachine::State s = round % 2 == 0 ? m.start_after_blanks() : m.start();
    for (int at = 0; at < 40 && !m.must_end(s); ++at) {
      const std::span<const uint64_t> bits = m.mask(s);
      const std::vector<uint64_t> mask(bits.begin(), bits.end());
      std::vector<int32_t> may;
      for (int32_t t = 0; t < m.tokens()->size(); ++t) {
        const std::string& bytes = m.tokens()->bytes(t);
        const bool bit = mask[static_cast<size_t>(t) / 64] >> (static_cast<size_t>(t) % 64) & 1;
        ASSERT_EQ(bit, !bytes.empty() && m.read(s, bytes) != GrammarMachine::kDead) << bytes;
        if (bit) may.push_back(t);
      }
      ASSERT_FALSE(may.empty());
      s = m.read(s, m.tokens()->bytes(may[rng.below(may.size())]));
      ++checked;
    }
    // Another machine takes the state over and allows the same.
    GrammarMachine other(m.grammar(), m.tokens());
    const GrammarMachine::State there = other.adopt(m, s);
    EXPECT_EQ(other.may_end(there), m.may_end(s));
    EXPECT_TRUE(std::ranges::equal(other.mask(there), m.mask(s)));
  }
  EXPECT_GT(checked, 200);
}

}  // namespace
}  // namespace quern::text
