// Expressions by recursive descent: sums, products (also without a sign: 2x), signs, powers, what follows a factor
// (!, %, °), factors.
#include <algorithm>
#include <map>
#include <numeric>

#include <fmt/format.h>

#include "quern/math/expression.h"

namespace quern::math {
namespace {

using Kind = MathTokenKind;
using Fraction = std::pair<int64_t, int64_t>;
constexpr int64_t kMaxFolded = int64_t{1} << 30;

const std::map<std::string_view, MathOp> kFunctions = {
    {"exp", MathOp::exp},   {"log", MathOp::log},   {"sin", MathOp::sin},   {"cos", MathOp::cos},
    {"tan", MathOp::tan},   {"cot", MathOp::cot},   {"sec", MathOp::sec},   {"csc", MathOp::csc},
    {"asin", MathOp::asin}, {"acos", MathOp::acos}, {"atan", MathOp::atan}, {"sinh", MathOp::sinh},
    {"cosh", MathOp::cosh}, {"tanh", MathOp::tanh}, {"abs", MathOp::abs}};

std::optional<Fraction> small(int64_t above, int64_t below) {
  if (below == 0) return {};
  const int64_t d = std::gcd(above, below) * (below < 0 ? -1 : 1);
  above /= d, below /= d;
  if (above > kMaxFolded || above < -kMaxFolded || below > kMaxFolded) return {};
  return Fraction{above, below};
}

std::optional<Fraction> small_power(Fraction base, int64_t n) {
  if (n < 0 && base.first == 0) return {};
  if (n < 0) return small_power({base.second, base.first}, -n);
  std::optional<Fraction> out = Fraction{1, 1};
  for (int64_t k = 0; k < std::min<int64_t>(n, 64) && out; ++k)
    out = small(out->first * base.first, out->second * base.second);
  const bool is_unit = base.second == 1 && (base.first == 0 || base.first == 1);
  return n <= 64 || is_unit ? out : std::nullopt;
}

std::optional<Fraction> folded_number(const std::string& digits, int32_t exponent) {
  if (digits.size() > 9 || exponent > 9 || exponent < -9) return {};
  int64_t value = 0, power = 1;
  for (char c : digits) value = value * 10 + (c - '0');
  for (int32_t k = 0; k < std::abs(exponent); ++k) power *= 10;
  if (exponent > 0 && value > kMaxFolded / power) return {};
  return exponent >= 0 ? small(value * power, 1) : small(value, power);
}

std::optional<Fraction> fold(MathOp op, Fraction a, Fraction b) {
  switch (op) {
    case MathOp::add:
      return small(a.first * b.second + b.first * a.second, a.second * b.second);
    case MathOp::subtract:
      return small(a.first * b.second - b.first * a.second, a.second * b.second);
    case MathOp::multiply:
      return small(a.first * b.first, a.second * b.second);
    case MathOp::divide:
      return small(a.first * b.second, a.second * b.first);
    case MathOp::power:
      return b.second == 1 ? small_power(a, b.first) : std::nullopt;
    default:
      return {};
  }
}

class Parser {
 public:
  explicit Parser(std::span<const MathToken> tokens) : tokens_(tokens.begin(), tokens.end()) {
    if (tokens_.empty() || tokens_.back().kind != Kind::end) tokens_.push_back({});
  }

  MathExpression read() {
    if (next().kind == Kind::end) throw MathUnreadable("there is no expression");
    const int32_t root = group();
    if (next().kind != Kind::end) unexpected();
    for (const MathNode& n : nodes_) {
      const bool alone = root == 0 || (root == 1 && nodes_[1].op == MathOp::negate);
      if (n.op == MathOp::infinity && !alone) throw MathUnreadable("infinity inside an expression");
    }
    return std::move(nodes_);
  }

 private:
  const MathToken& next(size_t ahead = 0) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }
  [[noreturn]] void unexpected() const {
    if (next().kind == Kind::end) throw MathUnreadable("the expression is not complete");
    throw MathUnreadable(fmt::format("'{}' is not expected there", next().text));
  }
  bool take(std::string_view sign) {
    if (!next().is(sign)) return false;
    ++at_;
    return true;
  }
  void expect(std::string_view sign) {
    if (!take(sign)) unexpected();
  }

  int32_t add(MathNode n) {
    if (nodes_.size() >= kMaxMathNodes)
      throw MathUnreadable(fmt::format("more than {} numbers and signs", kMaxMathNodes));
    nodes_.push_back(std::move(n));
    return static_cast<int32_t>(nodes_.size()) - 1;
  }
  int32_t number(int64_t value) { return add({.text = std::to_string(value), .folded = Fraction{value, 1}}); }
  std::optional<Fraction> folded(int32_t node) const { return nodes_[static_cast<size_t>(node)].folded; }

  int32_t operation(MathOp op, int32_t left, int32_t right = -1) {
    MathNode n{.op = op, .left = left, .right = right};
    if (op == MathOp::negate && folded(left)) n.folded = Fraction{-folded(left)->first, folded(left)->second};
    if (right >= 0 && folded(left) && folded(right)) n.folded = fold(op, *folded(left), *folded(right));
    if (op == MathOp::power) {
      const auto e = folded(right);
      const bool large = e && (e->first > kMaxExponent || e->first < -kMaxExponent);
      if (large || (!e && is_number(right))) throw MathUnreadable(fmt::format("an exponent beyond {}", kMaxExponent));
    }
    return add(std::move(n));
  }

  // Made of numbers alone, so that it has no value only because that is large.
  bool is_number(int32_t node) const {
    std::vector<int32_t> waiting = {node};
    while (!waiting.empty()) {
      const MathNode& n = nodes_[static_cast<size_t>(waiting.back())];
      waiting.pop_back();
      const bool arithmetic = n.op == MathOp::number || n.op == MathOp::add || n.op == MathOp::subtract ||
                              n.op == MathOp::multiply || n.op == MathOp::negate || n.op == MathOp::factorial ||
                              (n.op == MathOp::power && folded(n.right) && folded(n.right)->second == 1);
      if (!arithmetic) return false;
      if (n.left >= 0) waiting.push_back(n.left);
      if (n.right >= 0) waiting.push_back(n.right);
    }
    return true;
  }

  struct Level {
    Parser& p;
    explicit Level(Parser& parser) : p(parser) {
      if (++p.depth_ > kMaxMathDepth) throw MathUnreadable(fmt::format("brackets more than {} deep", kMaxMathDepth));
    }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;
    ~Level() { --p.depth_; }
  };

  // What braces, or nothing, stand around: a sum, or "1 \over 2", once, with all that stands left and right of it.
  int32_t group() {
    const int32_t above = sum();
    if (!next().is_name("over")) return above;
    ++at_;
    return operation(MathOp::divide, above, sum());
  }

  int32_t sum() {
    int32_t left = product();
    for (;;) {
      if (take("+"))
        left = operation(MathOp::add, left, product());
      else if (take("-"))
        left = operation(MathOp::subtract, left, product());
      else if (take("±"))
        left = operation(MathOp::plus_minus, left, product());
      else if (take("∓"))
        left = operation(MathOp::minus_plus, left, product());
      else
        return left;
    }
  }

  int32_t product() {
    int32_t left = with_sign();
    for (;;) {
      if (take("*"))
        left = operation(MathOp::multiply, left, with_sign());
      else if (take("/"))
        left = operation(MathOp::divide, left, with_sign());
      else if (begins_factor())
        left = operation(MathOp::multiply, left, power());
      else
        return left;
    }
  }

  // Whether a product goes on without a sign.
  bool begins_factor() const {
    const MathToken& t = next();
    if (t.kind == Kind::variable || t.is("(") || t.is("{")) return true;
    if (t.kind == Kind::name)
      return t.text != "or" && t.text != "and" && t.text != "in" && t.text != "cup" && t.text != "over";
    if (t.is("|")) return absolutes_ == 0;
    return false;
  }

  int32_t with_sign() {
    if (!next().is("+") && !next().is("-") && !next().is("±") && !next().is("∓")) return power();
    const Level level(*this);
    if (take("+")) return with_sign();
    if (take("-")) return operation(MathOp::negate, with_sign());
    const MathOp op = next().is("±") ? MathOp::plus_minus : MathOp::minus_plus;
    ++at_;
    const int32_t zero = number(0);
    return operation(op, zero, with_sign());
  }

  int32_t power() { return raised(followed(factor())); }

  int32_t raised(int32_t base) {
    if (!next().is("^")) return base;
    const bool degrees = next(1).is("°") || (next(1).is("{") && next(2).is("°") && next(3).is("}"));
    if (degrees) {
      at_ += next(1).is("°") ? 2 : 4;
      return in_degrees(base);
    }
    ++at_;
    return operation(MathOp::power, base, exponent());
  }

  int32_t exponent() {
    const Level level(*this);
    if (take("-")) return operation(MathOp::negate, exponent());
    if (take("+")) return exponent();
    if (next().kind == Kind::number) return raised(followed(argument()));  // 2^3\frac12 is no power of 3 1/2
    return power();
  }

  int32_t in_degrees(int32_t value) {
    const int32_t turned = operation(MathOp::multiply, value, add({.op = MathOp::pi}));
    return operation(MathOp::divide, turned, number(180));
  }

  int32_t followed(int32_t value) {
    for (;;) {
      if (take("%")) {
        value = operation(MathOp::divide, value, number(100));
      } else if (take("°")) {
        value = in_degrees(value);
      } else if (take("!")) {
        const auto n = folded(value);
        if (!n || n->second != 1 || n->first < 0 || n->first > 1000)
          throw MathUnreadable("a factorial of something other than a whole number up to 1000");
        value = operation(MathOp::factorial, value);
      } else {
        return value;
      }
    }
  }

  int32_t factor() {
    const Level level(*this);
    const MathToken& t = next();
    if (t.kind == Kind::number) return literal();
    if (t.kind == Kind::variable) return ++at_, add({.op = MathOp::variable, .text = t.text});
    if (t.kind == Kind::name) return named();
    for (const auto& [open, close] : {std::pair{"(", ")"}, {"{", "}"}, {"[", "]"}})
      if (take(open)) {
        const int before = std::exchange(absolutes_, 0);
        const int32_t inside = open[0] == '{' ? group() : sum();
        absolutes_ = before;
        expect(close);
        return inside;
      }
    if (take("|")) {
      ++absolutes_;
      const int32_t inside = sum();
      --absolutes_;
      expect("|");
      return operation(MathOp::abs, inside);
    }
    unexpected();
  }

  bool is_whole(size_t ahead) const { return next(ahead).kind == Kind::number && next(ahead).exponent == 0; }
  bool is_whole_over_whole() const {
    return next().is("{") && is_whole(1) && next(2).is_name("over") && is_whole(3) && next(4).is("}");
  }

  int32_t literal() {
    const bool whole = is_whole(0);
    const int32_t value = number_of_token();
    if (next().kind == Kind::number && !next().after_space) unexpected();
    if (whole && is_whole(0) && next(1).is("/") && is_whole(2)) {  // a mixed number
      const MathToken above = next(0), below = next(2);
      at_ += 3;
      return mixed(value, plain_number(above.text, 0), plain_number(below.text, 0));
    }
    if (whole && next().is_name("frac") && is_fraction_of_numbers()) {
      ++at_;
      const int32_t above = part_of_fraction();
      return mixed(value, above, part_of_fraction());
    }
    if (whole && is_whole_over_whole()) {  // 1{3 \over 4}, set as 1\frac34 is
      const MathToken above = next(1), below = next(3);
      at_ += 5;
      return mixed(value, plain_number(above.text, 0), plain_number(below.text, 0));
    }
    if (next().kind == Kind::number) throw MathUnreadable("two numbers without a sign between them");
    return value;
  }

  int32_t mixed(int32_t whole, int32_t above, int32_t below) {
    return operation(MathOp::add, whole, operation(MathOp::divide, above, below));
  }

  // Whether both parts of the \frac that comes next are whole numbers: \frac{3}{4}, \frac34, \frac 3 4, \frac3{4}.
  bool is_fraction_of_numbers() const {
    size_t ahead = 1;
    for (int parts = 0; parts < 2; ++parts) {
      if (next(ahead).is("{") && is_whole(ahead + 1) && next(ahead + 2).is("}"))
        ahead += 3;
      else if (parts == 0 && is_whole(ahead) && next(ahead).text.size() >= 2)
        return true;  // of two digits and more the first two are the parts
      else if (is_whole(ahead))
        ++ahead;
      else
        return false;
    }
    return true;
  }

  int32_t plain_number(const std::string& digits, int32_t exponent) {
    return add({.text = digits, .exponent = exponent, .folded = folded_number(digits, exponent)});
  }

  // 0.1\overline{6} is (16 - 1) / 90.
  int32_t number_of_token() {
    const MathToken t = next();
    ++at_;
    if (t.repeating == 0) return plain_number(t.text, t.exponent);
    const auto repeating = static_cast<size_t>(t.repeating), fixed = t.text.size() - repeating;
    const auto zeros = static_cast<size_t>(-t.exponent) - repeating;
    const int32_t all = plain_number(t.text, 0);
    const int32_t head = plain_number(fixed == 0 ? "0" : t.text.substr(0, fixed), 0);
    const int32_t above = operation(MathOp::subtract, all, head);
    return operation(MathOp::divide, above, plain_number(std::string(repeating, '9') + std::string(zeros, '0'), 0));
  }

  // What follows \sqrt, \log_: a group in braces, or one number, letter or name.
  int32_t argument() { return next().kind == Kind::number ? number_of_token() : factor(); }

  // Of \frac, which takes one digit where there are no braces: \frac12.
  int32_t part_of_fraction() {
    if (next().kind != Kind::number || next().exponent != 0 || next().text.size() == 1) return argument();
    const std::string digit = next().text.substr(0, 1);
    tokens_[at_].text.erase(0, 1);
    return plain_number(digit, 0);
  }

  int32_t named() {
    const std::string name = next().text;
    ++at_;
    if (name == "pi") return add({.op = MathOp::pi});
    if (name == "e") return add({.op = MathOp::euler});
    if (name == "i") return add({.op = MathOp::imaginary});
    if (name == "infinity") return add({.op = MathOp::infinity});
    if (name == "frac") {
      const int32_t above = part_of_fraction();
      return operation(MathOp::divide, above, part_of_fraction());
    }
    if (name == "binom") {
      const int32_t above = part_of_fraction();
      return binomial(above, part_of_fraction());
    }
    if (name == "sqrt" || name == "cbrt") {
      const bool given = name == "sqrt" && take("[");
      const int32_t degree = given ? sum() : number(name == "cbrt" ? 3 : 2);
      if (given) expect("]");
      const auto n = folded(degree);
      if (!n || n->second != 1 || n->first < 1 || n->first > 1000)
        throw MathUnreadable("a root whose degree is not a whole number up to 1000");
      return operation(MathOp::root, argument(), degree);
    }
    if (name == "lg") return logarithm(number(10));
    if (name == "log" && take("_")) return logarithm(argument());
    const auto function = kFunctions.find(name);
    if (function == kFunctions.end()) throw MathUnreadable(fmt::format("'{}' is not expected there", name));
    return applied(function->second);
  }

  int32_t binomial(int32_t above, int32_t below) {
    const auto n = folded(above), k = folded(below);
    const bool known = n && k && n->second == 1 && k->second == 1 && k->first >= 0 && k->first <= n->first;
    if (!known || n->first > 60) throw MathUnreadable("a binomial of something other than whole numbers up to 60");
    __int128 value = 1;
    for (int64_t i = 1; i <= k->first; ++i) value = value * (n->first - k->first + i) / i;
    return plain_number(std::to_string(static_cast<int64_t>(value)), 0);
  }

  int32_t logarithm(int32_t base) {
    const int32_t of = operation(MathOp::log, function_argument());
    return operation(MathOp::divide, of, operation(MathOp::log, base));
  }

  int32_t applied(MathOp op) {
    if (!take("^")) return operation(op, function_argument());
    const int32_t n = exponent();
    if (folded(n) != Fraction{-1, 1}) return operation(MathOp::power, operation(op, function_argument()), n);
    if (op == MathOp::sin) return operation(MathOp::asin, function_argument());
    if (op == MathOp::cos) return operation(MathOp::acos, function_argument());
    if (op == MathOp::tan) return operation(MathOp::atan, function_argument());
    throw MathUnreadable("a function to the power -1");
  }

  // In brackets, or the factors up to the next function or sign: sin 2x cos x.
  int32_t function_argument() {
    const Level level(*this);
    if (next().is("(") || next().is("{") || next().is("[")) return factor();
    if (take("-")) return operation(MathOp::negate, function_argument());
    int32_t left = power();
    while (begins_factor() && !next().is("(") && !(next().kind == Kind::name && kFunctions.contains(next().text)))
      left = operation(MathOp::multiply, left, power());
    return left;
  }

  std::vector<MathToken> tokens_;
  MathExpression nodes_ = {};
  size_t at_ = 0;
  int depth_ = 0, absolutes_ = 0;
};

}  // namespace

MathExpression parse_math(std::span<const MathToken> tokens) { return Parser(tokens).read(); }

}  // namespace quern::math
