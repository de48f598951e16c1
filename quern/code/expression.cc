// Texts of the list language, and its evaluation.
#include "quern/code/expression.h"

#include <algorithm>
#include <numeric>

#include "quern/base/error.h"
#include "quern/code/operations.h"

namespace quern::code {
namespace {

using Op = Expression::Op;

constexpr std::string_view kSigns[] = {"+", "-", "*", "/", "%", "++", "<", "<=", ">", ">=", "=", "!="};
std::string_view sign_of(Op op) { return kSigns[static_cast<size_t>(op) - static_cast<size_t>(Op::add)]; }

// How tightly an expression holds together: what stands inside another needs parentheses where it is looser.
int tightness(const Expression& e) {
  switch (e.op) {
    case Op::let:
    case Op::choice:
      return 0;
    case Op::less:
    case Op::less_equal:
    case Op::greater:
    case Op::greater_equal:
    case Op::equal:
    case Op::not_equal:
      return 1;
    case Op::add:
    case Op::subtract:
    case Op::join:
      return 2;
    case Op::multiply:
    case Op::divide:
    case Op::remainder:
      return 3;
    default:
      return 4;
  }
}

std::string inside(const Expression& e, int least) {
  return tightness(e) < least ? "(" + text_of(e) + ")" : text_of(e);
}

std::string joined(const std::vector<Expression>& parts) {
  std::string s;
  for (const Expression& p : parts) s += (s.empty() ? "" : ", ") + text_of(p);
  return s;
}

class Evaluator {
 public:
  explicit Evaluator(const Arguments& a) : values_{a.x} {
    if (a.k) values_.push_back(CodeValue::of(*a.k));
  }
  CodeValue value(const Expression& e);

 private:
  [[noreturn]] static void stop(const char* why) { throw Error(why); }
  void spend(size_t steps) {
    steps_ += static_cast<int64_t>(steps);
    if (steps_ > kMaxSteps) stop("more steps than allowed");
  }
  static int64_t bounded(__int128 n) {
    if (n > kMaxNumber || n < -kMaxNumber) stop("a number beyond a thousand million");
    return static_cast<int64_t>(n);
  }
  CodeValue bounded(std::vector<int64_t> list) {
    if (list.size() > static_cast<size_t>(kMaxListSize)) stop("a list that is too long");
    spend(list.size());
    return CodeValue::of(std::move(list));
  }
  int64_t number(const Expression& e) { return value(e).number; }
  bool holds(const Expression& e);
  CodeValue arithmetic(const Expression& e);
  CodeValue over_list(const Expression& e);
  CodeValue call(const Expression& e);

  std::vector<CodeValue> values_;  // of the variables in scope
  int64_t steps_ = 0;
};

bool Evaluator::holds(const Expression& e) {
  const int64_t a = number(e.parts[0]), b = number(e.parts[1]);
  switch (e.op) {
    case Op::less:
      return a < b;
    case Op::less_equal:
      return a <= b;
    case Op::greater:
      return a > b;
    case Op::greater_equal:
      return a >= b;
    case Op::equal:
      return a == b;
    default:
      return a != b;
  }
}

CodeValue Evaluator::arithmetic(const Expression& e) {
  const int64_t a = number(e.parts[0]), b = number(e.parts[1]);
  if ((e.op == Op::divide || e.op == Op::remainder) && b <= 0) stop("a division by a number below 1");
  switch (e.op) {
    case Op::add:
      return CodeValue::of(bounded(__int128{a} + b));
    case Op::subtract:
      return CodeValue::of(bounded(__int128{a} - b));
    case Op::multiply:
      return CodeValue::of(bounded(__int128{a} * b));
    case Op::divide:
      return CodeValue::of(floor_divided(a, b));
    default:
      return CodeValue::of(remainder_of(a, b));
  }
}

CodeValue Evaluator::over_list(const Expression& e) {
  const CodeValue list = value(e.parts.back());
  CodeValue out = e.op == Op::fold ? value(e.parts[1]) : CodeValue{.type = ValueType::list};
  for (int64_t v : list.list) {
    if (e.op == Op::fold) values_.push_back(std::move(out));
    values_.push_back(CodeValue::of(v));
    if (e.op == Op::fold)
      out = value(e.parts[0]);
    else if (e.op == Op::map)
      out.list.push_back(number(e.parts[0]));
    else if (holds(e.parts[0]))
      out.list.push_back(v);
    values_.resize(values_.size() - (e.op == Op::fold ? 2 : 1));
  }
  return out;
}

CodeValue Evaluator::call(const Expression& e) {
  std::vector<CodeValue> a;
  for (const Expression& p : e.parts) a.push_back(value(p));
  const std::string_view name = list_builtins()[static_cast<size_t>(e.number)].name;
  std::vector<int64_t>& l = a.back().list;
  if (name == "len") return CodeValue::of(static_cast<int64_t>(l.size()));
  if (name == "sum") return CodeValue::of(bounded(std::accumulate(l.begin(), l.end(), __int128{0})));
  if (name == "max") return CodeValue::of(l.empty() ? 0 : *std::ranges::max_element(l));
  if (name == "min") return CodeValue::of(l.empty() ? 0 : *std::ranges::min_element(l));
  if (name == "first") return CodeValue::of(l.empty() ? 0 : l.front());
  if (name == "last") return CodeValue::of(l.empty() ? 0 : l.back());
  if (name == "reverse") std::ranges::reverse(l);
  if (name == "sort") std::ranges::sort(l);
  if (name == "range") {
    if (a[0].number > kMaxListSize) stop("a list that is too long");
    l.resize(static_cast<size_t>(std::max<int64_t>(a[0].number, 0)));
    std::iota(l.begin(), l.end(), 0);
  }
  const auto n = std::clamp<int64_t>(a[0].number, 0, static_cast<int64_t>(l.size()));
  if (name == "take") l.erase(l.begin() + n, l.end());
  if (name == "drop") l.erase(l.begin(), l.begin() + n);
  return bounded(std::move(l));
}

CodeValue Evaluator::value(const Expression& e) {
  spend(1);
  switch (e.op) {
    case Op::number:
      return CodeValue::of(e.number);
    case Op::variable: {
      const CodeValue& v = values_[static_cast<size_t>(e.number)];
      spend(v.list.size());
      return v;
    }
    case Op::list: {
      std::vector<int64_t> l;
      for (const Expression& p : e.parts) l.push_back(number(p));
      return bounded(std::move(l));
    }
    case Op::let: {
      values_.push_back(value(e.parts[0]));
      CodeValue out = value(e.parts[1]);
      values_.pop_back();
      return out;
    }
    case Op::choice:
      return value(holds(e.parts[0]) ? e.parts[1] : e.parts[2]);
    case Op::join: {
      CodeValue out = value(e.parts[0]);
      const CodeValue more = value(e.parts[1]);
      out.list.insert(out.list.end(), more.list.begin(), more.list.end());
      return bounded(std::move(out.list));
    }
    case Op::map:
    case Op::filter:
    case Op::fold:
      return over_list(e);
    case Op::call:
      return call(e);
    default:
      return arithmetic(e);
  }
}

}  // namespace

const std::vector<ListBuiltin>& list_builtins() {
  constexpr ValueType n = ValueType::number, l = ValueType::list;
  static const std::vector<ListBuiltin> all = {{"len", {l}, n},     {"sum", {l}, n},    {"max", {l}, n},
                                               {"min", {l}, n},     {"first", {l}, n},  {"last", {l}, n},
                                               {"reverse", {l}, l}, {"sort", {l}, l},   {"range", {n}, l},
                                               {"take", {n, l}, l}, {"drop", {n, l}, l}};
  return all;
}

std::string text_of(const Expression& e) {
  switch (e.op) {
    case Op::number:
      return std::to_string(e.number);
    case Op::variable:
      return e.name;
    case Op::list:
      return "[" + joined(e.parts) + "]";
    case Op::let:
      return fmt::format("let {} = {} in {}", e.name, text_of(e.parts[0]), text_of(e.parts[1]));
    case Op::choice:
      return fmt::format("if {} then {} else {}", text_of(e.parts[0]), text_of(e.parts[1]), text_of(e.parts[2]));
    case Op::map:
    case Op::filter:
      return fmt::format("{}({} -> {}, {})", e.op == Op::map ? "map" : "filter", e.name, text_of(e.parts[0]),
                         text_of(e.parts[1]));
    case Op::fold:
      return fmt::format("fold({} {} -> {}, {}, {})", e.name, e.other, text_of(e.parts[0]), text_of(e.parts[1]),
                         text_of(e.parts[2]));
    case Op::call:
      return fmt::format("{}({})", list_builtins()[static_cast<size_t>(e.number)].name, joined(e.parts));
    default:
      const int least = tightness(e);
      return fmt::format("{} {} {}", inside(e.parts[0], least), sign_of(e.op), inside(e.parts[1], least + 1));
  }
}

std::string text_of(const ListFunction& f) {
  return fmt::format("f({}) = {}", fmt::join(f.names, ", "), text_of(f.body));
}

Outcome evaluate(const ListFunction& f, const Arguments& a) {
  try {
    return {Evaluator(a).value(f.body)};
  } catch (const Error& e) {
    return {{}, e.what()};
  }
}

std::string language_rules(std::string_view program) {
  struct Rule {
    std::string_view sign, text;
  };
  constexpr Rule kRules[] = {{" / ", "/ rounds down"},
                             {" % ", "% is the remainder (0 or more)"},
                             {"++", "++ joins lists"},
                             {"let", "let a = ... in ... names a value"},
                             {"if", "if ... then ... else ... compares by < <= > >= = !="},
                             {"map(", "map(v -> ..., list) changes each number v"},
                             {"filter(", "filter(v -> ..., list) keeps numbers by a comparison"},
                             {"fold(", "fold(t v -> ..., start, list) goes through the list with a total t"},
                             {"range(", "range(n) is the list of 0 to n - 1"},
                             {"take(", "take(n, list) is the first n numbers"},
                             {"drop(", "drop(n, list) is the list without them"},
                             {"max(", "max(list) is 0 for an empty list"},
                             {"min(", "min(list) is 0 for an empty list"},
                             {"first(", "first(list) is 0 for an empty list"},
                             {"last(", "last(list) is 0 for an empty list"}};
  std::string out;
  for (const Rule& rule : kRules)
    if (program.empty() || program.find(rule.sign) != program.npos)
      out += fmt::format("{}{}", out.empty() ? "" : ", ", rule.text);
  if (program.empty()) out += ", and there are + - *, [1, 2], len, sum, reverse and sort";
  return out.empty() ? out : "Here " + out + ".";
}

}  // namespace quern::code
