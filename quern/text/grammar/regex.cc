// Regular expressions as grammars. Lazy and greedy are the same here: both name the same set of texts.
#include <cctype>

#include "quern/text/grammar/parse.h"
#include "quern/text/grammar/reader.h"
#include "quern/text/unicode/utf8.h"

namespace quern::text {
namespace {

CharRanges ranges(std::initializer_list<std::pair<char32_t, char32_t>> r) {
  CharRanges c;
  c.ranges = r;
  return c;
}

CharRanges spaces() {  // as ECMAScript has them
  return ranges({{'\t', '\r'},
                 {' ', ' '},
                 {0xA0, 0xA0},
                 {0x1680, 0x1680},
                 {0x2000, 0x200A},
                 {0x2028, 0x2029},
                 {0x202F, 0x202F},
                 {0x205F, 0x205F},
                 {0x3000, 0x3000},
                 {0xFEFF, 0xFEFF}});
}

class GrammarRegex : GrammarReader {
 public:
  GrammarRegex(GrammarBuilder& b, std::string_view text, RegexPlace place)
      : GrammarReader(b, "regular expression", text), place_(place) {}

  GrammarItem parse() {
    std::vector<Sequence> all = choices(0);
    if (at_ < text_.size()) refuse("')' without '('");
    return b_.choice(std::move(all));
  }

 private:
  GrammarItem one(const CharRanges& c) { return place_.json_string ? json_char(b_, c) : b_.chars(c); }
  GrammarItem anything() { return b_.repeat(one(CharRanges().negated()), 0, -1); }

  std::vector<Sequence> choices(int nested) {
    if (nested > kMaxNested) refuse("more than {} parentheses inside one another", kMaxNested);
    std::vector<Sequence> all{sequence(nested)};
    while (more() && peek() == '|') ++at_, all.push_back(sequence(nested));
    return all;
  }

  // Anchors are understood where they end a whole alternative; a search without them allows any text there.
  Sequence sequence(int nested) {
    Sequence s;
    const bool outer = nested == 0;
    bool begun = outer && more() && peek() == '^', ended = false;
    if (begun) ++at_;
    if (outer && place_.search && !begun) s.push_back(anything());
    while (more() && peek() != '|' && peek() != ')') {
      if (outer && peek() == '$' && (at_ + 1 == text_.size() || text_[at_ + 1] == '|')) {
        ++at_, ended = true;
        break;
      }
      if (peek() == '$' || peek() == '^')
        refuse("'{}' is understood at the ends of the whole expression only", peek());
      s.push_back(repeated(atom(nested)));
    }
    if (outer && place_.search && !ended) s.push_back(anything());
    return s;
  }

  GrammarItem atom(int nested) {
    const size_t from = at_;
    if (peek() == '(') {
      ++at_;
      if (peek() == '?') {
        if (text_.substr(at_, 2) != "?:")
          refuse("'(?' other than '(?:' (look-around, flags, names) is not supported");
        at_ += 2;
      }
      const GrammarItem item = b_.choice(choices(nested + 1));
      if (peek() != ')') at_ = from, refuse("'(' is never closed");
      return ++at_, item;
    }
    if (peek() == '[') return one(set());
    if (peek() == '.') return ++at_, one(ranges({{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}}).negated());
    if (std::string_view("*+?{").find(peek()) != std::string_view::npos) refuse("'{}' has nothing to repeat", peek());
    return one(character(false));
  }

  GrammarItem repeated(GrammarItem item) {
    if (peek() == '{' && (at_ + 1 == text_.size() || std::isdigit(static_cast<unsigned char>(text_[at_ + 1])) == 0))
      refuse("expected a number of repetitions (a literal '{{' is '\\{{')");
    const auto r = repetition();
    if (!r) return item;
    if (peek() == '?') ++at_;
    if (peek() == '+') refuse("possessive repetition is not supported");
    item = repeat(item, *r);
    if (std::string_view("*+?{").find(peek()) != std::string_view::npos) refuse("two repetitions in a row");
    return item;
  }

  // A character or, from an escape, a set of them.
  CharRanges character(bool in_set) {
    if (peek() != '\\') {
      const Utf8Char c = utf8_at(text_, at_);
      at_ += c.len;
      return ranges({{c.cp, c.cp}});
    }
    if (++at_ >= text_.size()) refuse("'\\' at the end");
    const char c = text_[at_++];
    switch (c) {
      case 'd':
        return ranges({{'0', '9'}});
      case 'D':
        return ranges({{'0', '9'}}).negated();
      case 'w':
        return ranges({{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}});
      case 'W':
        return ranges({{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}).negated();
      case 's':
        return ranges({{'\t', '\r'}, {' ', ' '}});
      case 'S':
        return spaces().negated();
      case 'n':
        return ranges({{'\n', '\n'}});
      case 't':
        return ranges({{'\t', '\t'}});
      case 'r':
        return ranges({{'\r', '\r'}});
      case 'f':
        return ranges({{'\f', '\f'}});
      case 'v':
        return ranges({{'\v', '\v'}});
      case 'x':
        return code(2);
      case 'u':
        return code(4);
      default:
        break;
    }
    if (in_set && c == 'b') return ranges({{'\b', '\b'}});
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')) {
      at_ -= 2;
      refuse("the escape '\\{}' is not supported", c);
    }
    --at_;
    const Utf8Char literal = utf8_at(text_, at_);
    at_ += literal.len;
    return ranges({{literal.cp, literal.cp}});
  }
  CharRanges code(int digits) {
    const char32_t cp = hexadecimal(digits);
    return ranges({{cp, cp}});
  }

  CharRanges set() {
    const size_t from = at_++;
    const bool negated = peek() == '^';
    at_ += negated;
    CharRanges c;
    for (bool first = true; first || peek() != ']'; first = false) {
      if (!more()) at_ = from, refuse("'[' is never closed");
      if (first && peek() == ']') refuse("an empty set (a literal ']' is '\\]')");
      if (text_.substr(at_, 2) == "[:") refuse("named sets ([:alpha:]) are not supported");
      const size_t here = at_;
      CharRanges low = character(true);
      if (at_range()) {
        ++at_;
        const CharRanges high = character(true);
        const bool single = low.ranges.size() == 1 && low.ranges[0].first == low.ranges[0].second &&
                            high.ranges.size() == 1 && high.ranges[0].first == high.ranges[0].second;
        if (!single || high.ranges[0].first < low.ranges[0].first) at_ = here, refuse("a range that is none");
        low.ranges[0].second = high.ranges[0].first;
      }
      c.add(low);
    }
    ++at_;
    return negated ? c.negated() : c;
  }

  RegexPlace place_;
};

}  // namespace

GrammarItem json_char(GrammarBuilder& b, const CharRanges& set) {
  CharRanges special = ranges({{0, 0x1F}, {'"', '"'}, {'\\', '\\'}}), plain;
  const CharRanges outside = set.negated();
  special.add(outside);
  plain = special.negated();
  std::vector<GrammarBuilder::Sequence> choices;
  if (!plain.ranges.empty()) choices.push_back({b.chars(plain)});
  static constexpr std::pair<char, const char*> kEscapes[] = {
      {'"', "\\\""}, {'\\', "\\\\"}, {'\b', "\\b"}, {'\f', "\\f"}, {'\n', "\\n"}, {'\r', "\\r"}, {'\t', "\\t"}};
  for (const auto& [c, escape] : kEscapes)
    if (set.has(static_cast<char32_t>(c))) choices.push_back({b.literal(escape)});
  if (choices.empty()) fail("a set of characters is empty: nothing could ever match it");
  return b.choice(std::move(choices));
}

GrammarItem regex_item(GrammarBuilder& b, std::string_view pattern, RegexPlace place) {
  return GrammarRegex(b, pattern, place).parse();
}

Grammar parse_regex_grammar(std::string_view pattern) {
  GrammarBuilder b;
  const GrammarItem item = regex_item(b, pattern, {});
  try {
    return b.finish(item);
  } catch (const Error& e) {
    fail("regular expression: {}", e.what());
  }
}

}  // namespace quern::text
