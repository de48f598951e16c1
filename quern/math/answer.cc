#include "quern/math/answer.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "quern/math/equal.h"
#include "quern/math/number_sets.h"

namespace quern::math {
namespace {

using Kind = MathAnswer::Kind;
using Tokens = std::span<const MathToken>;
constexpr int kMaxNesting = 8;

bool opens(const MathToken& t) { return t.is("(") || t.is("[") || t.is("{") || t.is("\\{"); }
bool closes(const MathToken& t) { return t.is(")") || t.is("]") || t.is("}") || t.is("\\}"); }
bool separates(const MathToken& t) { return t.is(",") || t.is(";") || t.is_name("or") || t.is_name("and"); }

// "U" for ∪, between two intervals.
bool unites(Tokens t, size_t i) {
  if (t[i].is_name("cup")) return true;
  if (t[i].text != "U" || i == 0 || i + 1 >= t.size()) return false;
  return (t[i - 1].is(")") || t[i - 1].is("]")) && (t[i + 1].is("(") || t[i + 1].is("["));
}

// Pieces between tokens outside brackets for which at(i) is true. ", and" is one separator.
template <class At>
std::vector<Tokens> split(Tokens t, At&& at) {
  std::vector<Tokens> out;
  int depth = 0;
  size_t from = 0;
  for (size_t i = 0; i < t.size(); ++i) {
    depth += opens(t[i]) ? 1 : closes(t[i]) ? -1 : 0;
    if (depth != 0 || !at(i)) continue;
    out.push_back(t.subspan(from, i - from)), from = i + 1;
    const bool twice = t[i].kind == MathTokenKind::sign && from < t.size() && t[from].kind == MathTokenKind::name;
    if (twice && separates(t[from])) ++i, ++from;
  }
  out.push_back(t.subspan(from));
  if (out.size() > kMaxMathParts) throw MathUnreadable(fmt::format("more than {} parts", kMaxMathParts));
  return out;
}

// Whether the bracket that opens the tokens closes at their end.
bool is_enclosed(Tokens t) {
  int depth = 0;
  for (size_t i = 0; i < t.size(); ++i) {
    depth += opens(t[i]) ? 1 : closes(t[i]) ? -1 : 0;
    if (depth == 0) return i > 0 && i + 1 == t.size();
  }
  return false;
}

// x, x_1, f(x), (x, y): what an answer is named by.
bool is_name(Tokens t) {
  if (t.empty()) return false;
  if (t[0].kind == MathTokenKind::variable) return t.size() == 1 || (t[1].is("(") && is_enclosed(t.subspan(1)));
  return t[0].is("(") && is_enclosed(t) && std::ranges::all_of(t.subspan(1, t.size() - 2), [](const MathToken& x) {
           return x.kind == MathTokenKind::variable || x.is(",");
         });
}

std::string text_of(Tokens t) {
  std::string out;
  for (const MathToken& x : t) out += x.text;
  return out;
}

bool has_sign_choice(const MathExpression& e) {
  return std::ranges::any_of(
      e, [](const MathNode& n) { return n.op == MathOp::plus_minus || n.op == MathOp::minus_plus; });
}

MathExpression with_sign(MathExpression e, MathOp upper) {
  const MathOp lower = upper == MathOp::add ? MathOp::subtract : MathOp::add;
  for (MathNode& n : e) {
    if (n.op == MathOp::plus_minus) n.op = upper;
    if (n.op == MathOp::minus_plus) n.op = lower;
  }
  return e;
}

class AnswerParser {
 public:
  MathAnswer any(Tokens t) {
    if (++nesting_ > kMaxNesting) throw MathUnreadable("sets and tuples too deep inside one another");
    MathAnswer out = named(t);
    --nesting_;
    return out;
  }

 private:
  MathAnswer named(Tokens t) {
    const std::vector<Tokens> pieces = split(t, [&](size_t i) { return separates(t[i]); });
    if (pieces.size() > 1) return set_of(pieces);
    const std::vector<Tokens> sides = split(t, [&](size_t i) { return t[i].is("=") || t[i].is_name("in"); });
    if (sides.size() == 1) return bare(t);
    const bool is_chain = std::ranges::none_of(t, [](const MathToken& x) { return x.is_name("in"); });
    if (sides.size() == 2 && is_name(sides[0])) return with_name(sides[0], sides[1]);
    if (sides.size() == 2 && is_chain && is_name(sides[1])) return with_name(sides[1], sides[0]);
    if (!is_chain) throw MathUnreadable("an equation that does not begin with a name");
    return last_of_chain(sides);
  }

  MathAnswer with_name(Tokens name, Tokens value) {
    MathAnswer out = bare(value);
    out.name = text_of(name);
    return out;
  }

  // "x = 3+4 = 7", "3+4 = 7" and "= 7" are 7: the members are equal, and the last is the answer.
  MathAnswer last_of_chain(const std::vector<Tokens>& sides) {
    const bool has_name = is_name(sides[0]);
    MathAnswer out = bare(sides.back());
    for (size_t i = has_name || sides[0].empty() ? 1 : 0; i + 1 < sides.size(); ++i) {
      const MathAnswer member = bare(sides[i]);
      const bool values = member.kind == Kind::value && out.kind == Kind::value;
      if (!values || equal_math(out.value, member.value, 1) != MathEquality::same)
        throw MathUnreadable("an equation whose sides are not equal, and neither is a name");
    }
    if (has_name) out.name = text_of(sides[0]);
    return out;
  }

  MathAnswer set_of(const std::vector<Tokens>& pieces) {
    MathAnswer out{.kind = Kind::set};
    for (Tokens p : pieces) {
      MathAnswer part = any(p);
      if (part.kind != Kind::set || part.parts.empty()) {
        out.parts.push_back(std::move(part));
      } else {  // of ±
        for (MathAnswer& x : part.parts) {
          if (x.name.empty()) x.name = part.name;
          out.parts.push_back(std::move(x));
        }
      }
    }
    if (out.parts.size() == 1 && !is_empty_set(out.parts[0])) return std::move(out.parts[0]);
    return out;
  }

  static bool is_empty_set(const MathAnswer& a) { return a.kind == Kind::set && a.parts.empty(); }

  MathAnswer bare(Tokens t) {
    const std::vector<Tokens> united = split(t, [&](size_t i) { return unites(t, i); });
    if (united.size() > 1) {
      MathAnswer out{.kind = Kind::unions};
      for (Tokens p : united) out.parts.push_back(any(p));
      return out;
    }
    if (t.size() == 1 && t[0].is_name("emptyset")) return {.kind = Kind::set};
    if (is_enclosed(t) && (t[0].is("\\{") || t[0].is("{"))) {
      const Tokens inside = t.subspan(1, t.size() - 2);
      if (inside.empty()) return {.kind = Kind::set};
      const std::vector<Tokens> pieces = split(inside, [&](size_t i) { return separates(inside[i]); });
      if (t[0].is("\\{") || pieces.size() > 1) return set_of(pieces);
    }
    if (is_enclosed(t) && (t[0].is("(") || t[0].is("["))) {
      const Tokens inside = t.subspan(1, t.size() - 2);
      const std::vector<Tokens> pieces =
          split(inside, [&](size_t i) { return inside[i].is(",") || inside[i].is(";"); });
      if (pieces.size() > 1 || t[0].is("[")) {  // [5] is a list of one, (5) is 5
        MathAnswer out{.kind = Kind::tuple, .brackets = t[0].text + t.back().text};
        for (Tokens p : pieces) out.parts.push_back(any(p));
        return out;
      }
    }
    return value(t);
  }

  MathAnswer value(Tokens t) {
    MathExpression e = parse_math(t);
    if (!has_sign_choice(e)) return {.value = std::move(e)};
    MathAnswer out{.kind = Kind::set};
    for (MathOp upper : {MathOp::add, MathOp::subtract}) out.parts.push_back({.value = with_sign(e, upper)});
    return out;
  }

  int nesting_ = 0;
};

const char* kind_of(const MathAnswer& a) {
  switch (a.kind) {
    case Kind::value:
      return "one value";
    case Kind::set:
      return a.parts.empty() ? "the empty set" : "several values";
    case Kind::tuple:
      return "a tuple or an interval";
    default:
      return "a union";
  }
}

// The names of a set and of its members. Where there are several, they tell the members apart.
std::set<std::string> names_of(const MathAnswer& a) {
  std::set<std::string> names;
  for (const MathAnswer& p : a.parts) names.insert(p.name);
  names.insert(a.name);
  names.erase("");
  return names;
}

class Comparison {
 public:
  explicit Comparison(uint64_t seed) : seed_(seed) {}

  MathComparison compare(const MathAnswer& a, const MathAnswer& b) {
    if (!a.name.empty() && !b.name.empty() && a.name != b.name)
      return {false, fmt::format("expected a value of {}, found one of {}", a.name, b.name)};
    if (a.kind == Kind::unions || b.kind == Kind::unions)
      if (const auto same = same_numbers(a, b, seed_))
        return {*same, *same ? "the intervals hold the same numbers" : "the intervals hold other numbers"};
    if (a.kind != b.kind) return {false, fmt::format("expected {}, found {}", kind_of(a), kind_of(b))};
    if (a.kind == Kind::value) return values(a.value, b.value);
    if (a.parts.size() != b.parts.size())
      return {false, fmt::format("expected {} parts, found {}", a.parts.size(), b.parts.size())};
    if (a.kind != Kind::tuple) return unordered(a, b);
    if (a.brackets != b.brackets)
      return {false, fmt::format("expected the brackets {}, found {}", a.brackets, b.brackets)};
    for (size_t i = 0; i < a.parts.size(); ++i)
      if (MathComparison c = compare(a.parts[i], b.parts[i]); !c.same)
        return {false, fmt::format("part {}: {}", i + 1, c.reason)};
    return {true, "every part is equal"};
  }

 private:
  MathComparison values(const MathExpression& a, const MathExpression& b) const {
    switch (equal_math(a, b, seed_)) {
      case MathEquality::same:
        return {true, "the answer is equal to the expected one"};
      case MathEquality::different:
        return {false, "the answer is not equal to the expected one"};
      default:
        return {false, "the answer cannot be compared: it is undefined, too large or too inexact"};
    }
  }

  MathComparison unordered(const MathAnswer& a, const MathAnswer& b) {
    const std::set<std::string> names = names_of(a), others = names_of(b);
    const bool by_name = a.kind == Kind::set && names.size() > 1;
    if (!by_name && others.size() > 1) return {false, "the answer gives values of different names"};
    if (names.size() == 1 && others.size() == 1 && names != others)
      return {false, fmt::format("expected values of {}, found some of {}", *names.begin(), *others.begin())};
    std::vector<const MathAnswer*> left;
    for (const MathAnswer& p : b.parts) left.push_back(&p);
    for (const MathAnswer& p : a.parts) {
      const auto at = std::ranges::find_if(
          left, [&](const MathAnswer* x) { return (!by_name || p.name == x->name) && compare(p, *x).same; });
      if (at == left.end()) return {false, "a part is missing or wrong"};
      left.erase(at);
    }
    return {true, "every part is equal"};
  }

  uint64_t seed_;
};

}  // namespace

MathAnswer parse_math_answer(std::string_view text, MathCommas commas) {
  const std::vector<MathToken> tokens = math_tokens(text, commas);
  return AnswerParser().any(Tokens(tokens).first(tokens.size() - 1));
}

MathComparison compare_math(const MathAnswer& expected, const MathAnswer& given, uint64_t seed) {
  return Comparison(seed).compare(expected, given);
}

}  // namespace quern::math
