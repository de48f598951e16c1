// JSON as grammar rules.
#include "quern/text/grammar/json.h"

#include <algorithm>
#include <map>

#include "quern/text/grammar/parse.h"
#include "quern/text/unicode/utf8.h"

namespace quern::text {
namespace {

using Sequence = GrammarBuilder::Sequence;
using Kind = GrammarItem::Kind;
constexpr int64_t kMaxDigits = 15;  // exact in a double

}  // namespace

GrammarItem JsonGrammar::digit(char from, char to) {
  ByteSet s;
  for (char c = from; c <= to; ++c) s.set(static_cast<size_t>(c));
  return b_.bytes(s);
}

GrammarItem JsonGrammar::space() {
  if (space_.kind == Kind::end)
    space_ = b_.choice({{}, {b_.literal(" ")}, {b_.literal("\n"), b_.repeat(b_.literal(" "), 0, 20)}});
  return space_;
}

GrammarItem JsonGrammar::comma() {
  if (comma_.kind == Kind::end) comma_ = b_.sequence({b_.literal(","), space()});
  return comma_;
}

GrammarItem JsonGrammar::colon() {
  if (colon_.kind == Kind::end) colon_ = b_.sequence({b_.literal(":"), b_.repeat(b_.literal(" "), 0, 1)});
  return colon_;
}

Sequence JsonGrammar::opening(char bracket) { return {b_.literal(std::string(1, bracket)), space()}; }
GrammarItem JsonGrammar::closing(char bracket) { return b_.sequence({space(), b_.literal(std::string(1, bracket))}); }

GrammarItem JsonGrammar::character() {
  if (character_.kind != Kind::end) return character_;
  CharRanges special;
  special.add(0, 0x1F), special.add('"', '"'), special.add('\\', '\\');
  ByteSet escapes, hex, no_d, low;
  for (char c : std::string_view("\"\\/bfnrt")) escapes.set(static_cast<size_t>(c));
  for (char c : std::string_view("0123456789abcdefABCDEF")) hex.set(static_cast<size_t>(c));
  no_d = hex;
  no_d.reset('d').reset('D');
  for (char c = '0'; c <= '7'; ++c) low.set(static_cast<size_t>(c));
  const GrammarItem slash = b_.literal("\\"), u = b_.literal("u"), h = b_.bytes(hex);
  return character_ = b_.choice({{b_.chars(special.negated())},
                                 {slash, b_.bytes(escapes)},
                                 {slash, u, b_.bytes(no_d), h, h, h},
                                 {slash, u, b_.bytes(ByteSet().set('d').set('D')), b_.bytes(low), h, h}});
}

GrammarItem JsonGrammar::quoted(GrammarItem inside) {
  return b_.sequence({b_.literal("\""), inside, b_.literal("\"")});
}

GrammarItem JsonGrammar::integer() {
  if (integer_.kind != Kind::end) return integer_;
  const GrammarItem more = b_.repeat(digit('0', '9'), 0, kMaxDigits - 1);
  return integer_ = b_.choice({{b_.literal("0")}, {digit('1', '9'), more}, {b_.literal("-"), digit('1', '9'), more}});
}

GrammarItem JsonGrammar::number() {
  if (number_.kind != Kind::end) return number_;
  const GrammarItem ten = digit('0', '9'), minus = b_.repeat(b_.literal("-"), 0, 1);
  const GrammarItem whole = b_.choice({{b_.literal("0")}, {digit('1', '9'), b_.repeat(ten, 0, kMaxDigits - 1)}});
  const GrammarItem fraction = b_.sequence({b_.literal("."), b_.repeat(ten, 1, kMaxDigits)});
  const GrammarItem exponent =
      b_.sequence({b_.bytes(ByteSet().set('e').set('E')), b_.repeat(b_.bytes(ByteSet().set('+').set('-')), 0, 1),
                   b_.repeat(ten, 1, 2)});
  return number_ = b_.sequence({minus, whole, b_.repeat(fraction, 0, 1), b_.repeat(exponent, 0, 1)});
}

// low and high have the same number of digits: a shared beginning, then the three parts of the range.
GrammarItem JsonGrammar::digits(std::string_view low, std::string_view high) {
  const auto n = static_cast<int64_t>(low.size());
  if (n == 1) return digit(low[0], high[0]);
  const bool from_zeros = low.find_first_not_of('0', 1) == low.npos,
             to_nines = high.find_first_not_of('9', 1) == high.npos;
  if (from_zeros && to_nines) return b_.sequence({digit(low[0], high[0]), b_.repeat(digit('0', '9'), n - 1, n - 1)});
  if (low[0] == high[0]) return b_.sequence({digit(low[0], low[0]), digits(low.substr(1), high.substr(1))});
  const std::string nines(low.size() - 1, '9'), zeros(low.size() - 1, '0');
  char first = low[0], last = high[0];
  std::vector<Sequence> all;
  if (!from_zeros) all.push_back({digit(first, first), digits(low.substr(1), nines)}), ++first;
  if (!to_nines) all.push_back({digit(last, last), digits(zeros, high.substr(1))}), --last;
  if (first <= last) all.push_back({digit(first, last), b_.repeat(digit('0', '9'), n - 1, n - 1)});
  return b_.choice(std::move(all));
}

void JsonGrammar::up_to(uint64_t low, uint64_t high, std::string_view sign, std::vector<Sequence>& out) {
  for (uint64_t from = low; from <= high;) {
    const std::string a = std::to_string(from);
    const uint64_t longest = std::stoull(std::string(a.size(), '9')), to = std::min(longest, high);
    Sequence s;
    if (!sign.empty()) s.push_back(b_.literal(sign));
    s.push_back(digits(a, std::to_string(to)));
    out.push_back(std::move(s));
    from = to + 1;
  }
}

GrammarItem JsonGrammar::integer(int64_t low, int64_t high) {
  std::vector<Sequence> all;
  if (low < 0) up_to(static_cast<uint64_t>(std::max<int64_t>(1, -high)), static_cast<uint64_t>(-low), "-", all);
  if (high >= 0) up_to(static_cast<uint64_t>(std::max<int64_t>(0, low)), static_cast<uint64_t>(high), "", all);
  return b_.choice(std::move(all));
}

GrammarItem JsonGrammar::any() {
  if (any_.kind != Kind::end) return any_;
  any_ = b_.declare("any JSON value");
  const GrammarItem text = quoted(b_.repeat(character(), 0, -1)), pair = b_.sequence({text, colon(), any_});
  auto list = [&](char open, char close, GrammarItem item) {
    Sequence s = opening(open);
    s.push_back(b_.choice({{item, b_.repeat(b_.sequence({comma(), item}), 0, -1), closing(close)},
                           {b_.literal(std::string(1, close))}}));
    return s;
  };
  b_.define(any_, {list('{', '}', pair),
                   list('[', ']', any_),
                   {text},
                   {number()},
                   {b_.literal("true")},
                   {b_.literal("false")},
                   {b_.literal("null")}});
  return any_;
}

// Spelled without escapes, so that no name can hide behind one: along the trie of the names, leaving it anywhere, or
// stopping where no name ends.
GrammarItem JsonGrammar::other_key(const std::set<std::string>& names) {
  CharRanges special;
  special.add(0, 0x1F), special.add('"', '"'), special.add('\\', '\\');
  const GrammarItem quote = b_.literal("\""), rest = b_.repeat(b_.chars(special.negated()), 0, -1);
  std::set<std::string> prefixes{""};
  for (const std::string& name : names)
    for (size_t i = 0; i < name.size(); i += utf8_at(name, i).len) prefixes.insert(name.substr(0, i));
  for (const std::string& name : names) prefixes.insert(name);
  std::map<std::string, GrammarItem> at;
  for (auto p = prefixes.rbegin(); p != prefixes.rend(); ++p) {  // longer ones come before their beginnings
    std::vector<Sequence> all;
    CharRanges taken = special;
    for (auto child = prefixes.upper_bound(*p); child != prefixes.end() && child->starts_with(*p); ++child) {
      const Utf8Char next = utf8_at(*child, p->size());
      if (child->size() != p->size() + next.len) continue;
      taken.add(next.cp, next.cp);
      if (next.cp < 0x20 || next.cp == '"' || next.cp == '\\') continue;  // such names are spelled with escapes
      CharRanges one;
      one.add(next.cp, next.cp);
      all.push_back({b_.chars(one), at.at(*child)});
    }
    all.push_back({b_.chars(taken.negated()), rest, quote});
    if (!names.contains(*p)) all.push_back({quote});
    at.emplace(*p, b_.choice(std::move(all)));
  }
  return b_.sequence({quote, at.at("")});
}

std::string_view format_pattern(std::string_view format) {
#define QUERN_DATE \
  "([12][0-9]{3}-((0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])|(0[13-9]|1[0-2])-(29|30)|(0[13578]|1[02])-31))"
#define QUERN_TIME "(([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,6})?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9]))"
  if (format == "date") return "^" QUERN_DATE "$";
  if (format == "time") return "^" QUERN_TIME "$";
  if (format == "date-time") return "^" QUERN_DATE "T" QUERN_TIME "$";
#undef QUERN_DATE
#undef QUERN_TIME
  if (format == "uuid") return "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$";
  if (format == "ipv4")
    return "^((25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])\\.){3}(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])$";
  return {};
}

}  // namespace quern::text
