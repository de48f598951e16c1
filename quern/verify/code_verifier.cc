// "code": {"language": "python" | "c", "tests": [{"arguments": [x] or [x, k], "result": …}, …]}. The function f of the last
// block between ``` fences is run on the tests in the sandbox; the reward is the share that passes. Values are integers,
// lists of integers and, in Python, texts.
#include "quern/base/error.h"
#include "quern/code/code_reply.h"
#include "quern/code/code_runner.h"
#include "quern/verify/expectation.h"
#include "quern/verify/verifier.h"

namespace quern::verify {
namespace {

using code::CodeLanguage;
using code::CodeTest;
using code::ValueType;

constexpr size_t kMaxTests = 200;

CodeTest test_of(const Json& t) {
  if (!t.is_object()) fail("expected an object, found {}", t.dump());
  for (const auto& [key, value] : t.as_object())
    if (key != "arguments" && key != "result") fail("'{}' is not known: expected arguments and result", key);
  const Json::Array& arguments = t.at("arguments").as_array("arguments");
  if (arguments.empty() || arguments.size() > 2) fail("arguments: expected one or two, found {}", arguments.size());
  CodeTest test{{code::value_from(arguments[0])}, code::value_from(t.at("result"))};
  if (arguments.size() == 2) test.arguments.k = arguments[1].as_int("second argument");
  return test;
}

std::vector<CodeTest> tests_of(const Json& expectation) {
  const Json* tests = expectation.find("tests");
  if (!tests) fail("field 'tests' is missing");
  if (!tests->is_array() || tests->as_array().empty() || tests->as_array().size() > kMaxTests)
    fail("field 'tests': expected a list of 1 to {} tests", kMaxTests);
  std::vector<CodeTest> out;
  for (const Json& t : tests->as_array()) try {
      out.push_back(test_of(t));
    } catch (const Error& e) {
      fail("field 'tests': test {}: {}", out.size() + 1, e.what());
    }
  return out;
}

// What one C function can take and give.
void check_c(const std::vector<CodeTest>& tests) {
  const CodeTest& first = tests[0];
  for (size_t i = 0; i < tests.size(); ++i) {
    const auto& [arguments, result] = tests[i];
    if (arguments.x.type == ValueType::text || result.type == ValueType::text)
      fail("field 'tests': test {}: in C, values are integers and lists of integers", i + 1);
    if (arguments.x.type == ValueType::number && result.type == ValueType::list)
      fail("field 'tests': test {}: in C, a list is the result of a list", i + 1);
    if (arguments.x.type != first.arguments.x.type || result.type != first.expected.type ||
        arguments.k.has_value() != first.arguments.k.has_value())
      fail("field 'tests': test {}: other types than those of test 1", i + 1);
  }
}

class CodeVerifier : public Verifier {
 public:
  explicit CodeVerifier(const Json& e) : tests_(tests_of(e)) {
    if (word_field(e, "language", {"python", "c"}) == "c") language_ = CodeLanguage::c, check_c(tests_);
    if (const auto why = code::why_unavailable(language_)) fail("code cannot be judged on this machine: {}", *why);
  }

  Verdict judge(std::string_view reply) const override {
    const auto source = code::fenced_code(reply);
    if (!source) return {0, "no code between ``` fences"};
    const CodeTest& first = tests_[0];
    const code::CodeSignature signature{first.arguments.x.type, first.expected.type, first.arguments.k.has_value()};
    const code::TestCount count = code::count_passed(
        code::shared_runner(language_).run(*source, signature, code::arguments_of(tests_)), tests_);
    return {count.share(), count.reason};
  }

 private:
  std::vector<CodeTest> tests_;
  CodeLanguage language_ = CodeLanguage::python;
};

}  // namespace

std::unique_ptr<const Verifier> make_code(const Json& expectation) {
  check_fields(expectation, {"language", "tests"});
  return std::make_unique<CodeVerifier>(expectation);
}

}  // namespace quern::verify
