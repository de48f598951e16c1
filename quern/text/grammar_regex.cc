// Regular expressions as grammars. Lazy and greedy are the same here: both name the same set of texts.
#include "quern/base/error.h"
#include "quern/text/grammar_parse.h"
#include "quern/text/utf8.h"

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

class GrammarRegex {
 public:
  GrammarRegex(GrammarBuilder& b, std::string_view text, RegexPlace place) : b_(b), text_(text), place_(place) {
    if (const size_t bad = utf8_error(text); bad != text.npos) at_ = bad, refuse("the text is not valid UTF-8");
  }

  GrammarItem parse() {
    std::vector<Sequence> all = choices(0);
    if (at_ < text_.size()) refuse("')' without '('");
    return b_.choice(std::move(all));
  }

 private:
  using Sequence = GrammarBuilder::Sequence;
  static constexpr int kMostNested = 200;

  template <class... A>
  [[noreturn]] void refuse(fmt::format_string<A...> f, A&&... a) const {
    fail("regular expression, line 1 column {}: {}", utf8_length(text_.substr(0, at_)) + 1,
         fmt::format(f, std::forward<A>(a)...));
  }
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool more() const { return at_ < text_.size(); }
  GrammarItem one(const CharRanges& c) { return place_.json_string ? json_char(b_, c) : b_.chars(c); }
  GrammarItem anything() { return b_.repeat(one(CharRanges().negated()), 0, -1); }

  std::vector<Sequence> choices(int nested) {
    if (nested > kMostNested) refuse("more than {} parentheses inside one another", kMostNested);
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
    for (bool first = true; more(); first = false) {
      const size_t from = at_;
      int64_t least = 0, most = -1;
      if (peek() == '+') {
        least = 1;
      } else if (peek() == '?') {
        most = 1;
      } else if (peek() == '{') {
        ++at_;
        least = most = number();
        if (peek() == ',') ++at_, most = peek() == '}' ? -1 : number();
        if (peek() != '}') refuse("expected '}}' at the end of a repetition");
      } else if (peek() != '*') {
        return item;
      }
      if (!first) refuse("two repetitions in a row");
      ++at_;
      if (peek() == '?') ++at_;
      if (peek() == '+') refuse("possessive repetition is not supported");
      try {
        item = b_.repeat(item, least, most);
      } catch (const Error& e) {
        at_ = from;
        refuse("{}", e.what());
      }
    }
    return item;
  }
  int64_t number() {
    int64_t n = 0;
    if (!(peek() >= '0' && peek() <= '9')) refuse("expected a number of repetitions (a literal '{{' is '\\{{')");
    for (; peek() >= '0' && peek() <= '9'; ++at_)
      if (n = n * 10 + (peek() - '0'); n > 1000 * GrammarBuilder::kMostRepeats) refuse("the number is too large");
    return n;
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
    char32_t cp = 0;
    for (int i = 0; i < digits; ++i, ++at_) {
      const char c = static_cast<char>(peek() | 0x20);
      const bool digit = peek() >= '0' && peek() <= '9';
      if (!digit && !(c >= 'a' && c <= 'f')) refuse("expected {} hexadecimal digits", digits);
      cp = cp * 16 + static_cast<char32_t>(digit ? peek() - '0' : c - 'a' + 10);
    }
    if (cp >= 0xD800 && cp <= 0xDFFF) refuse("half a surrogate pair is no character");
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
      if (peek() == '-' && at_ + 1 < text_.size() && text_[at_ + 1] != ']') {
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

  GrammarBuilder& b_;
  std::string_view text_;
  RegexPlace place_;
  size_t at_ = 0;
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
