// Generated programs: their texts in the list language give what is computed here, errors are errors, and what they may
// be given reads back.
#include <gtest/gtest.h>

#include <set>

#include "quern/base/error.h"
#include "quern/base/test_message.h"
#include "quern/code/code_reply.h"
#include "quern/code/expression.h"
#include "quern/code/random_program.h"

namespace quern::code {
namespace {

using List = std::vector<int64_t>;

CodeProgram program_of(const char* json) { return program_from(Json::parse(json)); }

TEST(CodeProgram, HasOneMeaningInFourTexts) {
  const CodeProgram p = program_of(R"([["add",3],["take",2,"longer",2,"reverse",0],["sum",0],["times",null]])");
  EXPECT_EQ(
      description_of(p),
      "add 3 to each number; then if the list has more than 2 numbers, keep only the first 2 numbers, otherwise "
      "reverse the list; then add up the numbers; then multiply by k");
  EXPECT_EQ(python_of(p),
            "def f(x, k):\n    x = [v + 3 for v in x]\n    if len(x) > 2:\n        x = x[:2]\n    else:\n"
            "        x = x[::-1]\n    x = sum(x)\n    x = x * k\n    return x\n");
  EXPECT_EQ(c_of(p),
            "long long f(long long *x, int len, long long k) {\n  for (int i = 0; i < len; i++) x[i] += 3;\n"
            "  if (len > 2) {\n    if (len > 2) len = 2;\n  } else {\n"
            "    for (int i = 0, j = len - 1; i < j; i++, j--) { long long t = x[i]; x[i] = x[j]; x[j] = t; }\n  }\n"
            "  long long y = 0; for (int i = 0; i < len; i++) y += x[i];\n  y *= k;\n  return y;\n}\n");
  EXPECT_EQ(list_language_of(p),
            "f(x, k) = sum(let y = map(v -> v + 3, x) in if len(y) > 2 then take(2, y) else reverse(y)) * k");
  EXPECT_EQ(run(p, {CodeValue::of(List{1, 2, 3}), 10}), CodeValue::of(90));
  EXPECT_EQ(trace_of(p, {CodeValue::of(List{5}), 2}),
            "x = [5], k = 2. Add 3 to each number: [8]. If the list has more than 2 numbers, keep only the first 2 "
            "numbers, otherwise reverse the list: [8]. Add up the numbers: 8. Multiply by k: 16.");
  EXPECT_EQ(to_json(program_from(to_json(p))).dump(), to_json(p).dump());
}

TEST(CodeProgram, RefusesWhatIsNone) {
  for (const char* json :
       {"[]", "[[\"add\"]]", "[[\"fly\",1]]", "[[\"add\",0]]", "[[\"add\",1,\"wet\",1,\"add\",1]]", "3"})
    EXPECT_NE(message_of([&] { program_of(json); }), "") << json;
}

TEST(CodeProgram, StaysWithinItsBounds) {
  const CodeProgram p = program_of(R"([["squared",0],["squared",0]])");
  EXPECT_EQ(run(p, {CodeValue::of(10)}), CodeValue::of(10'000));
  EXPECT_EQ(run(p, {CodeValue::of(1000)}), std::nullopt);
}

// The list language is read and evaluated by other code than the operations.
TEST(CodeProgram, AgreesWithTheListLanguage) {
  std::set<std::string_view> seen;
  Rng r(1);
  for (int i = 0; i < 4000; ++i) {
    const CodeTask t = random_task(r, {.dialect = Dialect::expression, .difficulty = i % 24});
    std::vector<std::string> names = {"x"};
    std::vector<ValueType> types = {t.program.in()};
    if (t.program.has_k) names.emplace_back("k"), types.push_back(ValueType::number);
    const ListFunction f = parse_function(list_language_of(t.program), names, types);
    EXPECT_EQ(f.body.type, t.program.out());
    for (const CodeTest& test : t.hidden) {
      const Outcome o = evaluate(f, test.arguments);
      ASSERT_EQ(o.value, test.expected) << text_of(f) << " of " << text_of(test.arguments) << o.problem;
    }
    for (const CodeStep& s : t.program.steps) seen.insert(s.action.operation->name);
  }
  size_t known = 0;
  for (const CodeOperation& o : list_operations()) known += o.is_in(Dialect::expression) ? 1 : 0;
  EXPECT_EQ(seen.size(), known);  // every operation was among them
}

TEST(CodeTasks, HaveTestsThatTell) {
  Rng r(2);
  size_t steps = 0, with_k = 0, choices = 0;
  for (int i = 0; i < 1000; ++i) {
    const Dialect d = std::array{Dialect::python, Dialect::c, Dialect::expression}[static_cast<size_t>(i % 3)];
    const CodeTask t = random_task(r, {.dialect = d, .difficulty = i % 14});
    ASSERT_EQ(t.shown.size(), 3u);
    ASSERT_GE(t.hidden.size(), 9u);
    std::set<std::string> arguments, results;
    for (const auto* part : {&t.shown, &t.hidden})
      for (const CodeTest& test : *part) {
        EXPECT_TRUE(t.format.admits(test.arguments)) << text_of(test.arguments);
        EXPECT_EQ(t.format.read(text_of(test.arguments)), test.arguments);
        EXPECT_EQ(run(t.program, test.arguments), test.expected);
        arguments.insert(text_of(test.arguments)), results.insert(text_of(test.expected));
      }
    EXPECT_EQ(arguments.size(),
              t.shown.size() + t.hidden.size());  // none is given twice, so none is shown and hidden
    EXPECT_GE(results.size(), 3u) << description_of(t.program);
    steps += t.program.steps.size(), with_k += t.program.has_k ? 1 : 0;
    for (const CodeStep& s : t.program.steps) choices += s.condition != nullptr ? 1 : 0;
  }
  EXPECT_GT(steps, 3000u);
  EXPECT_GT(with_k, 100u);
  EXPECT_GT(choices, 100u);
}

TEST(CodeTasks, GetErrorsThatSomeTestsShow) {
  Rng r(3);
  int found = 0;
  for (int i = 0; i < 1000; ++i) {
    const Dialect d = i % 2 ? Dialect::python : Dialect::expression;
    const CodeTask t = random_task(r, {.dialect = d, .difficulty = i % 12});
    const auto broken = with_error(t, r, d);
    if (!broken) continue;
    ++found;
    const size_t wrong = differences(t, *broken).size();
    EXPECT_GE(wrong, 2u);
    EXPECT_LT(wrong, t.shown.size() + t.hidden.size());
    for (const Arguments& a : differences(t, *broken)) EXPECT_NE(run(*broken, a), run(t.program, a));
  }
  EXPECT_GT(found, 800);
}

TEST(CodeValues, AreRead) {
  const auto read = [](const char* text, ValueType type) {
    const auto v = read_value(text, type);
    return v ? text_of(*v) : "none";
  };
  EXPECT_EQ(read(" -12 ", ValueType::number), "-12");
  for (const char* text : {"", "-", "1 2", "+3", "1.0", "1234567890123456789", "[1]"})
    EXPECT_EQ(read(text, ValueType::number), "none") << text;
  EXPECT_EQ(read("[1,-2 , 3]", ValueType::list), "[1, -2, 3]");
  EXPECT_EQ(read("[ ]", ValueType::list), "[]");
  for (const char* text : {"", "1, 2", "3", "[1", "[1,]", "[1] 2", "[1], [2]", "[[1]]", "[a]", "[1;2]"})
    EXPECT_EQ(read(text, ValueType::list), "none") << text;
  EXPECT_EQ(read("'a b '", ValueType::text), "'a b '");
  EXPECT_EQ(read("\"ab\"", ValueType::text), "'ab'");
  EXPECT_EQ(read(" ab ", ValueType::text), "'ab'");
  EXPECT_EQ(read("''", ValueType::text), "''");
  EXPECT_EQ(read("'nan'", ValueType::text), "'nan'");
  for (const char* text : {"", "'a", "a'b", "'a' 'b'", "'a\\n'", "nan", "None"})
    EXPECT_EQ(read(text, ValueType::text), "none") << text;
}

TEST(CodeReplies, HaveCodeAndValues) {
  EXPECT_EQ(fenced_code("no code"), std::nullopt);
  EXPECT_EQ(fenced_code("a ```b``` c"), std::nullopt);
  EXPECT_EQ(fenced_code("between ```python and ```.\nAnswer: ```python\nx\n```\n"), "x");
  EXPECT_EQ(fenced_code("```python\nx\n```"), "x");
  EXPECT_EQ(fenced_code("```\na\n```\nor\n```c\nb\nc\n```\ndone"), "b\nc");
  EXPECT_EQ(fenced_code("```python\nx\ny"), "x\ny");
  EXPECT_EQ(fenced_code("<think>```\na\n```</think>"), std::nullopt);
  EXPECT_EQ(fenced_code("<think>\n```\na\n```\n"), std::nullopt);
  EXPECT_EQ(fenced_code("thought</think>\n```\na\n```\n"), "a");
  EXPECT_EQ(answer_text("<think>\nAnswer: 3"), "");
  EXPECT_EQ(fenced_code("```\n```"), "");
  EXPECT_EQ(answer_text("Answer: 1\n<think>\n</think>\nSo\nAnswer:  A b \nmore"), "A b");
  EXPECT_EQ(answer_text("<think>x</think>\n 'a  b' \n"), "'a  b'");
  EXPECT_EQ(answer_text("It is 5. \n"), "It is 5");
  EXPECT_EQ(answer_text("Answer:"), "");
  EXPECT_EQ(answer_text(" . "), "");
}

}  // namespace
}  // namespace quern::code
