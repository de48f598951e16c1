// Mathematical expressions as a list of operations, arguments first: the last node is the value. Read from plain text
// ("2x^2 + 1/3") and from LaTeX ("\frac{2x^2}{3}"). i is the imaginary unit, e Euler's number, log the natural
// logarithm; "1 3/4" is a mixed number. Bounds: kMaxMathText bytes, kMaxMathNodes nodes, kMaxMathDepth levels of
// brackets, exponents within ±kMaxExponent.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quern::math {

constexpr size_t kMaxMathText = 4096, kMaxMathNodes = 2000;
constexpr int kMaxMathDepth = 100;
constexpr int64_t kMaxExponent = 100'000;

// What a text is not; judged as a wrong answer, or refused as an expectation.
class MathUnreadable : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

enum class MathTokenKind : uint8_t { number, variable, name, sign, end };

struct MathToken {
  MathTokenKind kind = MathTokenKind::end;
  std::string text = {};     // digits; a variable; a name such as "sin", "pi", "frac"; a sign such as "+", "\\{"
  int32_t exponent = 0;      // of a number: text * 10^exponent
  int32_t repeating = 0;     // of a number: so many of its last digits repeat without end
  bool after_space = false;  // blanks before it
  bool is(std::string_view t) const { return kind == MathTokenKind::sign && text == t; }
  bool is_name(std::string_view t) const { return kind == MathTokenKind::name && text == t; }
};

enum class MathCommas { group, separate };  // what "1,250" outside brackets is: a number, or two

// Ends with a token of kind `end`. Throws MathUnreadable.
std::vector<MathToken> math_tokens(std::string_view text, MathCommas commas = MathCommas::group);

enum class MathOp : uint8_t {
  number,
  variable,
  pi,
  euler,
  imaginary,
  infinity,
  add,
  subtract,
  plus_minus,
  minus_plus,
  multiply,
  divide,
  negate,
  power,
  root,
  factorial,
  abs,
  exp,
  log,
  sin,
  cos,
  tan,
  cot,
  sec,
  csc,
  asin,
  acos,
  atan,
  sinh,
  cosh,
  tanh,
};

struct MathNode {
  MathOp op = MathOp::number;
  int32_t left = -1, right = -1;                           // arguments; root: radicand and degree
  std::string text = {};                                   // of number: digits; of variable: its name
  int32_t exponent = 0;                                    // of number: digits * 10^exponent
  std::optional<std::pair<int64_t, int64_t>> folded = {};  // its value where that is a small fraction
};

using MathExpression = std::vector<MathNode>;

// All of these tokens as one expression.
MathExpression parse_math(std::span<const MathToken> tokens);

}  // namespace quern::math
