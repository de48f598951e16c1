// Grammars over bytes, the common form of GBNF, regular expressions and JSON Schemas. A rule is a choice of sequences;
// an element of a sequence is a set of bytes or a rule. Characters beyond ASCII are sequences of byte sets. finish()
// rejects what a stack machine cannot parse (left recursion) and what never ends (a rule that only calls itself).
// Cost: linear in the grammar's size, which kMaxElements bounds.
#pragma once
#include <bitset>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quern::text {

using ByteSet = std::bitset<256>;

struct GrammarItem {
  enum class Kind : uint8_t { end, bytes, rule };  // end: only in the flat form, behind each sequence
  Kind kind = Kind::end;
  int32_t index = 0;  // of the byte set or the rule
  bool operator==(const GrammarItem&) const = default;
};

// The flat form: a position is an index into `items`; rule r's sequences begin at starts[first[r]] …
// starts[first[r+1]].
struct Grammar {
  std::vector<GrammarItem> items;
  std::vector<int32_t> starts, first;
  std::vector<ByteSet> sets;
  int32_t root = 0;
  int32_t spaced_root = 0;  // the same behind up to four blanks: an answer that follows its thinking
};

// Code points from-to, inclusive; kept sorted and apart by normalize().
struct CharRanges {
  std::vector<std::pair<char32_t, char32_t>> ranges = {};
  void add(char32_t from, char32_t to) { ranges.emplace_back(from, to); }
  void add(const CharRanges& o) { ranges.insert(ranges.end(), o.ranges.begin(), o.ranges.end()); }
  void normalize();
  CharRanges negated() const;  // within Unicode without the surrogates
  bool has(char32_t c) const;
};

class GrammarBuilder {
 public:
  using Item = GrammarItem;
  using Sequence = std::vector<Item>;
  static constexpr int64_t kMaxElements = 1 << 20;
  static constexpr int64_t kMaxRepeats = 1 << 16;

  Item declare(std::string name);  // a rule to be defined later
  void define(Item rule, std::vector<Sequence> choices);
  Item choice(std::vector<Sequence> choices);
  Item sequence(Sequence s);
  Item repeat(Item what, int64_t minimum, int64_t maximum);  // most < 0: no bound
  Item bytes(const ByteSet& set);
  Item chars(CharRanges c);  // one character of the set, as UTF-8
  void literal(Sequence& into, std::string_view text);
  Item literal(std::string_view text);
  Grammar finish(Item root);  // throws Error naming the rule

 private:
  void count(size_t elements);
  enum class Derives { finite, empty };  // some finite text, or the empty one
  std::vector<bool> derive(const Grammar& g, Derives what) const;
  void check_rules(const Grammar& g) const;
  void check_ends(const Grammar& g) const;
  struct Rule {
    std::string name;
    std::vector<Sequence> choices = {};
  };
  std::vector<Rule> rules_;
  std::vector<ByteSet> sets_;
  std::map<std::string, int32_t> set_ids_;
  int64_t elements_ = 0;
};

}  // namespace quern::text
