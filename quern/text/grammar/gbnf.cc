// GBNF parser: recursive descent, with line and column in every error.
#include <algorithm>
#include <unordered_map>

#include "quern/text/grammar/parse.h"
#include "quern/text/grammar/reader.h"
#include "quern/text/unicode/utf8.h"

namespace quern::text {
namespace {

class Gbnf : GrammarReader {
 public:
  Gbnf(GrammarBuilder& b, std::string_view text) : GrammarReader(b, "grammar", text) {}

  Grammar parse() {
    for (skip(); at_ < text_.size(); skip()) rule();
    for (const auto& [name, use] : uses_) {
      if (defined_.contains(name)) continue;
      at_ = use;
      refuse("rule '{}' is used here and defined nowhere", name);
    }
    if (!defined_.contains("root")) refuse("there is no rule named root");
    try {
      return b_.finish(rules_.at("root"));
    } catch (const Error& e) {
      fail("grammar: {}", e.what());
    }
  }

 private:
  bool at_text(std::string_view s) const { return text_.substr(at_).starts_with(s); }
  void skip() {
    for (; at_ < text_.size(); ++at_) {
      if (peek() == '#')
        at_ = std::min(text_.find('\n', at_), text_.size() - 1);
      else if (std::string_view(" \t\r\n").find(peek()) == std::string_view::npos)
        break;
    }
  }
  static bool name_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  }
  std::string name() {
    const size_t from = at_;
    while (name_char(peek())) ++at_;
    return std::string(text_.substr(from, at_ - from));
  }
  GrammarItem rule_of(const std::string& n) {
    const auto [it, fresh] = rules_.try_emplace(n);
    if (fresh) it->second = b_.declare(n);
    return it->second;
  }

  void rule() {
    const size_t from = at_;
    const std::string n = name();
    if (n.empty()) refuse("expected the name of a rule");
    skip();
    if (!at_text("::=")) refuse("expected ::= after the rule's name '{}'", n);
    at_ += 3;
    if (!defined_.try_emplace(n, from).second) at_ = from, refuse("rule '{}' is defined twice", n);
    std::vector<Sequence> all = choices(0);
    if (at_ < text_.size() && peek() == ')') refuse("')' without '('");
    b_.define(rule_of(n), std::move(all));
  }

  std::vector<Sequence> choices(int nested) {
    if (nested > kMaxNested) refuse("more than {} parentheses inside one another", kMaxNested);
    std::vector<Sequence> all{sequence(nested)};
    for (skip(); peek() == '|'; skip()) ++at_, all.push_back(sequence(nested));
    return all;
  }

  bool next_is_rule() {  // a name and ::= begin the next rule
    const size_t from = at_;
    name(), skip();
    const bool is = at_text("::=");
    at_ = from;
    return is;
  }

  Sequence sequence(int nested) {
    Sequence s;
    for (skip(); at_ < text_.size(); skip()) {
      const size_t from = at_;
      GrammarItem item;
      if (peek() == '"') {
        item = literal();
      } else if (peek() == '[') {
        item = set();
      } else if (peek() == '.') {
        ++at_;
        item = b_.chars(CharRanges().negated());
      } else if (peek() == '(') {
        ++at_;
        item = b_.choice(choices(nested + 1));
        if (peek() != ')') at_ = from, refuse("'(' is never closed");
        ++at_;
      } else if (name_char(peek())) {
        if (next_is_rule()) return s;
        const std::string n = name();
        uses_.emplace_back(n, from);
        item = rule_of(n);
      } else if (peek() == '|' || peek() == ')') {
        return s;
      } else {
        refuse("'{}' is nothing a rule can contain", text_.substr(at_, utf8_at(text_, at_).len));
      }
      s.push_back(repeated(item));
    }
    return s;
  }

  GrammarItem repeated(GrammarItem item) {
    while (const auto r = repetition()) item = repeat(item, *r);
    return item;
  }

  char32_t character() {  // one, escaped or not
    if (peek() != '\\') {
      const Utf8Char c = utf8_at(text_, at_);
      at_ += c.len;
      return c.cp;
    }
    ++at_;
    static constexpr std::pair<char, char> kPlain[] = {{'n', '\n'},  {'t', '\t'}, {'r', '\r'},
                                                       {'\\', '\\'}, {'"', '"'},  {'[', '['},
                                                       {']', ']'},   {'-', '-'},  {'^', '^'}};
    for (const auto& [letter, is] : kPlain)
      if (peek() == letter) return ++at_, static_cast<char32_t>(is);
    const int digits = peek() == 'x' ? 2 : peek() == 'u' ? 4 : peek() == 'U' ? 8 : 0;
    if (digits == 0) refuse("an escape this notation does not know");
    ++at_;
    return hexadecimal(digits);
  }

  GrammarItem literal() {
    const size_t from = at_++;
    std::string text;
    while (peek() != '"') {
      if (at_ >= text_.size()) at_ = from, refuse("the text in quotes is never closed");
      utf8_append(text, character());
    }
    ++at_;
    return b_.literal(text);
  }

  GrammarItem set() {
    const size_t from = at_++;
    const bool negated = peek() == '^';
    at_ += negated;
    CharRanges c;
    while (peek() != ']') {
      if (at_ >= text_.size()) at_ = from, refuse("'[' is never closed");
      const size_t here = at_;
      const char32_t low = character();
      char32_t high = low;
      if (at_range()) ++at_, high = character();
      if (high < low) at_ = here, refuse("the range runs backwards");
      c.add(low, high);
    }
    ++at_;
    if (c.ranges.empty() && !negated) at_ = from, refuse("an empty set matches nothing");
    return b_.chars(negated ? c.negated() : c);
  }

  std::unordered_map<std::string, GrammarItem> rules_;
  std::unordered_map<std::string, size_t> defined_;
  std::vector<std::pair<std::string, size_t>> uses_;
};

}  // namespace

Grammar parse_gbnf(std::string_view text) {
  GrammarBuilder b;
  return Gbnf(b, text).parse();
}

}  // namespace quern::text
