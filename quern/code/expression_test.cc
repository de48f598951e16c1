// The list language: its definition case by case, its bounds, its messages, and texts that read back.
#include "quern/code/expression.h"

#include <gtest/gtest.h>

#include "quern/base/error.h"
#include "quern/base/test_message.h"

namespace quern::code {
namespace {

constexpr ValueType kNumber = ValueType::number, kList = ValueType::list;

Outcome value_of(const std::string& text, std::vector<int64_t> x = {}) {
  return evaluate(parse_function(text, {"x", "k"}, {kList, kNumber}), {CodeValue::of(std::move(x)), 3});
}
std::string shown(const std::string& text, std::vector<int64_t> x = {}) {
  const Outcome o = value_of(text, std::move(x));
  return o.problem.empty() ? text_of(o.value) : o.problem;
}
std::string refusal(const std::string& text) {
  return message_of([&] { parse_function(text, {"x", "k"}, {kList, kNumber}); });
}

TEST(ListLanguage, HasIntegers) {
  EXPECT_EQ(shown("1 + 2 * 3 - 4"), "3");
  EXPECT_EQ(shown("(1 + 2) * 3"), "9");
  EXPECT_EQ(shown("10 - 4 - 3"), "3");
  EXPECT_EQ(shown("-7 / 2"), "-4");
  EXPECT_EQ(shown("-7 % 3"), "2");
  EXPECT_EQ(shown("- (2 + k)"), "-5");
  EXPECT_EQ(shown("2 - -3"), "5");
  EXPECT_EQ(shown("1 / 0"), "a division by a number below 1");
  EXPECT_EQ(shown("1 % (0 - 2)"), "a division by a number below 1");
}

TEST(ListLanguage, HasLists) {
  EXPECT_EQ(shown("[1, k, 2 + 2]"), "[1, 3, 4]");
  EXPECT_EQ(shown("[] ++ x ++ [9]", {5}), "[5, 9]");
  EXPECT_EQ(shown("map(v -> v * v, x)", {1, -2}), "[1, 4]");
  EXPECT_EQ(shown("filter(v -> v >= k, x)", {1, 3, 5}), "[3, 5]");
  EXPECT_EQ(shown("fold(t v -> t * 10 + v, 0, x)", {1, 2, 3}), "123");
  EXPECT_EQ(shown("fold(t v -> [v] ++ t, [], x)", {1, 2, 3}), "[3, 2, 1]");
  EXPECT_EQ(shown("fold(t v -> fold(s w -> s + w, t, x) + v, 0, x)", {1, 2}), "9");
  EXPECT_EQ(shown("fold(t v -> t + v, fold(t v -> t - v, 10, x), x)", {1, 2}), "10");
  EXPECT_EQ(shown("range(4)"), "[0, 1, 2, 3]");
  EXPECT_EQ(shown("range(0 - 2)"), "[]");
  EXPECT_EQ(shown("take(2, x)", {4, 5, 6}), "[4, 5]");
  EXPECT_EQ(shown("take(0 - 1, x) ++ take(9, x)", {4}), "[4]");
  EXPECT_EQ(shown("drop(2, x)", {4, 5, 6}), "[6]");
  EXPECT_EQ(shown("drop(9, x)", {4}), "[]");
  EXPECT_EQ(shown("sort(x)", {3, 1, 2}), "[1, 2, 3]");
  EXPECT_EQ(shown("reverse(x)", {3, 1, 2}), "[2, 1, 3]");
  EXPECT_EQ(shown("[len(x), sum(x), max(x), min(x), first(x), last(x)]", {3, 1, 2}), "[3, 6, 3, 1, 3, 2]");
  EXPECT_EQ(shown("[len(x), sum(x), max(x), min(x), first(x), last(x)]"), "[0, 0, 0, 0, 0, 0]");
}

TEST(ListLanguage, HasNamesAndChoices) {
  EXPECT_EQ(shown("let a = 2 in let b = a + 1 in a * b"), "6");
  EXPECT_EQ(shown("let x = 1 in x + 1"), "2");
  EXPECT_EQ(shown("map(x -> x + 1, x)", {1}), "[2]");
  EXPECT_EQ(shown("if k > 2 then if k = 3 then 1 else 2 else 3"), "1");
  for (const auto& [sign, holds] : {std::pair{"<", 0}, {"<=", 1}, {">", 0}, {">=", 1}, {"=", 1}, {"!=", 0}})
    EXPECT_EQ(shown(fmt::format("if k {} 3 then 1 else 0", sign)), std::to_string(holds)) << sign;
  EXPECT_EQ(shown("f(a, b) = map(v -> v + b, a)", {1}), "[4]");
  EXPECT_EQ(shown("1 + (if k < 0 then 1 else 2) * 2"), "5");
}

TEST(ListLanguage, TellsWhatIsWrong) {
  EXPECT_EQ(refusal("1 +"), "at character 4: expected an expression, found the end");
  EXPECT_EQ(refusal("1 2"), "at character 3: expected the end, found '2'");
  EXPECT_EQ(refusal("x + 1"), "before character 3: expected a number, found a list");
  EXPECT_EQ(refusal("sum(k)"), "before character 6: expected a list, found a number");
  EXPECT_EQ(refusal("y"), "before character 2: 'y' is not a name in scope");
  EXPECT_EQ(refusal("(let a = 1 in a) + a"), "before character 21: 'a' is not a name in scope");
  EXPECT_EQ(refusal("foo(x)"), "before character 5: 'foo' is not a function");
  EXPECT_EQ(refusal("if k then 1 else 2"), "at character 6: expected a comparison, found 'then'");
  EXPECT_EQ(refusal("if k > 1 then 1 else x"), "before character 23: expected a number, found a list");
  EXPECT_EQ(refusal("let in = 1 in 2"), "at character 5: expected a name, found 'in'");
  EXPECT_EQ(refusal("f(a) = 1"), "at character 4: expected ',', found ')'");
  EXPECT_EQ(refusal("12345678901"), "at character 1: a number beyond a thousand million");
  EXPECT_EQ(refusal(std::string(9000, '1')), "the program has 9000 characters: expected at most 8000");
  EXPECT_NE(refusal(std::string(1000, '(') + "1"), "");
  EXPECT_NE(refusal(""), "");
  EXPECT_NE(refusal("\xff\xfe"), "");
}

TEST(ListLanguage, Ends) {
  const std::vector<int64_t> x(100, 7);
  EXPECT_EQ(shown("fold(t v -> t ++ x, x, x)", x), "a list that is too long");
  EXPECT_EQ(shown("range(1001)"), "a list that is too long");
  EXPECT_EQ(shown("sum(map(a -> sum(map(b -> sum(map(c -> c, x)), x)), x))", x), "more steps than allowed");
  EXPECT_EQ(shown("fold(t v -> t * t, 9, x)", x), "a number beyond a thousand million");
  EXPECT_EQ(shown("1000000000 + 1"), "a number beyond a thousand million");
  // Nests of what is read twice when read badly.
  std::string nest = "0";
  for (int i = 0; i < 90; ++i) nest = "fold(t v -> v, " + nest + ", x)";
  EXPECT_EQ(shown(nest, {5}), "5");
  std::string sum = "1";
  for (int i = 0; i < 700; ++i) sum += " + 1";
  EXPECT_EQ(shown(sum), "701");
  for (int i = 0; i < 700; ++i) sum += " + 1";
  EXPECT_NE(refusal(sum), "");
}

TEST(ListLanguage, IsWrittenAsItIsRead) {
  for (const char* text : {"1 + 2 * (3 - k)", "(1 - 2) - 3", "1 - (2 - 3)", "let a = x in sum(a) + k",
                           "1 + (let a = 2 in a)", "fold(t v -> if v > t then v else t, -5, x ++ [1])",
                           "(if k > 0 then 1 else 2) * k", "map(v -> v % 2, filter(w -> w / 2 != 3, take(k, x)))"}) {
    const ListFunction f = parse_function(text, {"x", "k"}, {kList, kNumber});
    const ListFunction again = parse_function(text_of(f), {"x", "k"}, {kList, kNumber});
    EXPECT_EQ(text_of(again), text_of(f));
    const Arguments a{CodeValue::of(std::vector<int64_t>{4, 9, 2}), 5};
    EXPECT_EQ(evaluate(again, a).value, evaluate(f, a).value) << text;
  }
}

// Random texts of tokens never do more than be refused, and whatever can be read ends.
TEST(ListLanguage, SurvivesRandomTexts) {
  const std::vector<std::string> tokens = {
      "map(", "filter(", "fold(", "v", "->", "x",  ",",  ")", "(", "[", "]", "let",  "in",     "a",     "=",
      "if",   "then",    "else",  ">", "1",  "20", "++", "*", "-", "k", "t", "sum(", "range(", "take(", "%"};
  Rng r(3);
  int read = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string text;
    for (uint64_t n = 1 + r.below(12); n > 0; --n) text += tokens[r.below(tokens.size())] + " ";
    try {
      const ListFunction f = parse_function(text, {"x", "k"}, {kList, kNumber});
      evaluate(f, {CodeValue::of(std::vector<int64_t>{1, 2}), 3});
      ++read;
    } catch (const Error& e) {
      EXPECT_GT(std::string(e.what()).size(), 5u);
    }
  }
  EXPECT_GT(read, 100);
}

}  // namespace
}  // namespace quern::code
