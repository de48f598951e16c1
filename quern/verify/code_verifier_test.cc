// The verifier of code in task files: shares of tests, both languages, expectations that are refused.
#include <gtest/gtest.h>

#include "quern/base/test_message.h"
#include "quern/code/code_runner.h"
#include "quern/verify/verifier.h"

namespace quern::verify {
namespace {

Verdict judged(const char* expectation, const std::string& reply) {
  return make_verifier(Json::parse(expectation))->judge(reply);
}

std::string fenced(const std::string& code) { return "Here:\n```\n" + code + "\n```\nDone."; }

class CodeVerifier : public testing::TestWithParam<code::CodeLanguage> {
 protected:
  void SetUp() override {
    if (const auto why = code::why_unavailable(GetParam())) GTEST_SKIP() << *why;
  }
};
class PythonVerifier : public CodeVerifier {};
class CVerifier : public CodeVerifier {};
INSTANTIATE_TEST_SUITE_P(Of, PythonVerifier, testing::Values(code::CodeLanguage::python));
INSTANTIATE_TEST_SUITE_P(Of, CVerifier, testing::Values(code::CodeLanguage::c));

TEST_P(PythonVerifier, GivesTheShareOfTests) {
  const char* sorts = R"({"verifier": "code", "tests": [{"arguments": [[3, 1, 2]], "result": [1, 2, 3]},
                          {"arguments": [[]], "result": []}]})";
  EXPECT_EQ(judged(sorts, fenced("def f(x): return sorted(x)")).reward, 1);
  const Verdict part = judged(sorts, fenced("def f(x): return x"));
  EXPECT_EQ(part.reward, 0.5);
  EXPECT_EQ(part.reason, "1 of 2 tests pass; f([3, 1, 2]): expected [1, 2, 3], found [3, 1, 2]");
  EXPECT_EQ(judged(sorts, fenced("def f(x): return tuple(sorted(x))")).reward, 0);
  EXPECT_EQ(judged(sorts, fenced("def g(x): return sorted(x)")).reward, 0);
  EXPECT_EQ(judged(sorts, "def f(x): return sorted(x)").reason, "no code between ``` fences");
  EXPECT_EQ(judged(sorts, "<think>" + fenced("def f(x): return sorted(x)")).reward, 0);
  EXPECT_EQ(judged(sorts, "").reward, 0);
  const char* words = R"({"verifier": "code", "language": "python",
                          "tests": [{"arguments": ["ab c", 2], "result": "ab cab c"}, {"arguments": ["", 3], "result": ""}]})";
  EXPECT_EQ(judged(words, fenced("def f(x, k): return x * k")).reward, 1);
  EXPECT_EQ(judged(words, fenced("def f(x, k): return x")).reward, 0.5);
}

TEST_P(CVerifier, GivesTheShareOfTests) {
  const char* doubles = R"({"verifier": "code", "language": "c", "tests": [{"arguments": [4], "result": 8},
                            {"arguments": [-1], "result": -2}, {"arguments": [0], "result": 0}]})";
  EXPECT_EQ(judged(doubles, fenced("long long f(long long x) { return 2 * x; }")).reward, 1);
  EXPECT_NEAR(judged(doubles, fenced("long long f(long long x) { return x + 4; }")).reward, 1.0 / 3, 1e-9);
  EXPECT_EQ(judged(doubles, fenced("long long f(long long x) { return 2 * x }")).reward, 0);
}

TEST(CodeVerifierFields, AreChecked) {
  const auto message = [](const std::string& fields) {
    return message_of([&] { make_verifier(Json::parse(R"({"verifier": "code", )" + fields + "}")); });
  };
  for (const auto& [fields, what] : std::initializer_list<std::pair<const char*, const char*>>{
           {R"("language": "python")", "field 'tests' is missing"},
           {R"("tests": [])", "field 'tests': expected a list of 1 to 200"},
           {R"("tests": [[1, 2]])", "field 'tests': test 1: expected an object"},
           {R"("tests": [{"arguments": [1], "result": 1}, {"arguments": [], "result": 1}])",
            "test 2: arguments: expected"},
           {R"("tests": [{"arguments": [1, 2, 3], "result": 1}])", "expected one or two, found 3"},
           {R"("tests": [{"arguments": [1, "k"], "result": 1}])", "second argument"},
           {R"("tests": [{"arguments": [1.5], "result": 1}])", "test 1: "},
           {R"("tests": [{"arguments": [1]}])", "result"},
           {R"("tests": [{"arguments": [1], "result": 1, "timeout": 3}])", "'timeout' is not known"},
           {R"("language": "java", "tests": [{"arguments": [1], "result": 1}])", "field 'language'"},
           {R"("language": "c", "tests": [{"arguments": ["a"], "result": 1}])", "in C, values are"},
           {R"("language": "c", "tests": [{"arguments": [1], "result": [1]}])",
            "in C, a list is the result of a list"},
           {R"("language": "c", "tests": [{"arguments": [1], "result": 1}, {"arguments": [[1]], "result": 1}])",
            "test 2: other types"},
           {R"("answer": 3, "tests": [{"arguments": [1], "result": 1}])", "'answer' is not known"}})
    EXPECT_NE(message(fields).find(what), std::string::npos) << fields << ": " << message(fields);
  const std::string unknown = message_of([] { make_verifier(Json::parse(R"({"verifier": "kode"})")); });
  EXPECT_NE(unknown.find("did you mean 'code'"), std::string::npos) << unknown;
}

}  // namespace
}  // namespace quern::verify
