// Answers in other words are right; what passes the hidden tests is judged again on inputs that no test has.
#include <gtest/gtest.h>

#include "quern/code/expression.h"
#include "quern/gym/check_environment.h"

namespace quern::gym {
namespace {

using code::CodeTest, code::CodeValue, code::ValueType;

TEST(WriteFunction, AcceptsEveryRightProgram) {
  Problem p{.kind = "write_function"};
  const std::vector<CodeTest> tests = {{{CodeValue::of(std::vector<int64_t>{})}, CodeValue::of(0)},
                                       {{CodeValue::of(std::vector<int64_t>{3, -1})}, CodeValue::of(4)},
                                       {{CodeValue::of(std::vector<int64_t>{5})}, CodeValue::of(10)}};
  p.facts.set("tests", to_json(tests));
  const NamedEnvironment& e = plugin_environments().find("write_function");
  for (const char* right : {"sum(x) * 2", "f(x) = 2 * sum(x)", "F(L) = SUM(MAP(V -> V + V, L)).",
                            "fold(t v -> t + 2 * v, 0, x)", "so it is\nAnswer: let s = sum(x) in s + s\n"})
    EXPECT_EQ(e.verify(p, right).reward, 1) << right << e.verify(p, right).reason;
  const Verdict part = e.verify(p, "first(x) * 2");
  EXPECT_NEAR(part.reward, 2.0 / 3, 1e-9);
  EXPECT_EQ(part.reason, "2 of 3 tests pass; f([3, -1]): expected 4, found 6");
  EXPECT_EQ(e.verify(p, "x").reason, "the function gives the wrong type");
  EXPECT_EQ(e.verify(p, "sum(y)").reason, "before character 6: 'y' is not a name in scope");
  EXPECT_EQ(e.verify(p, "1 / len(x)").reason, "0 of 3 tests pass; f([]): expected 0, a division by a number below 1");
}

struct Signature {
  std::vector<std::string> names = {"x"};
  std::vector<ValueType> types;
};

Signature signature_of(const CodeTest& test) {
  Signature s;
  s.types = {test.arguments.x.type};
  if (test.arguments.k) s.names.emplace_back("k"), s.types.push_back(ValueType::number);
  return s;
}

TEST(WriteFunction, HasTestsThatTell) {
  const NamedEnvironment& e = plugin_environments().find("write_function");
  Rng r(7), inputs(8);
  int accepted = 0, escaped = 0, refused = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    const Problem p = e.generate(seed, static_cast<int64_t>(seed % 9));
    const Signature s = signature_of(code::tests_from(p.facts.at("tests")).at(0));
    const code::ListFunction right = code::parse_function(p.answer, s.names, s.types);
    const code::InputFormat format{.type = s.types[0],
                                   .length = 6,
                                   .lowest = s.types[0] == ValueType::list ? -9 : 0,
                                   .highest = 9,
                                   .max_k = s.names.size() > 1 ? 5 : 0};
    for (int i = 0; i < 50; ++i) {
      const std::string text = mutated_answer(p.answer, r);
      if (e.verify(p, text).reward < 1) {
        ++refused;
        continue;
      }
      ++accepted;
      const code::ListFunction f = code::parse_function(final_answer(text), s.names, s.types);
      bool same = true;
      for (int j = 0; j < 50 && same; ++j) {
        const code::Arguments a = format.random(inputs);
        same = evaluate(f, a).value == evaluate(right, a).value;
      }
      escaped += same ? 0 : 1;
    }
  }
  EXPECT_GT(accepted, 1000);
  EXPECT_GT(refused, 5000);
  EXPECT_LT(escaped, accepted / 20) << accepted;
}

TEST(WriteFunction, HasTheProperties) { check_environment("write_function", {.several_right = true}); }

}  // namespace
}  // namespace quern::gym
