#include "quern/code/code_runner.h"

#include <algorithm>

#include "quern/base/error.h"
#include "quern/code/test_harness.h"

namespace quern::code {
namespace {

constexpr size_t kMaxSource = 100'000;
constexpr size_t kRunsRemembered = 32, kMaxRemembered = 8'000;  // bytes of a source
constexpr int kNotCompiled = 90;

sandbox::Policy policy_of() {
  return {.limits = {.seconds = 8, .memory_mib = 256, .processes = 12, .output_mib = 2, .disk_mib = 16}};
}

std::optional<CodeValue> decoded(std::string_view text) {
  const std::string_view rest = text.substr(std::min<size_t>(2, text.size()));
  if (text.starts_with("n ")) return read_value(rest, ValueType::number);
  if (text.starts_with("l")) {
    std::string list(rest);
    std::ranges::replace(list, ' ', ',');
    return read_value("[" + list + "]", ValueType::list);
  }
  if (!text.starts_with("t ") || rest.size() % 2 != 0) return {};
  std::string out;
  for (size_t i = 0; i < rest.size(); i += 2) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    const size_t high = kDigits.find(rest[i]), low = kDigits.find(rest[i + 1]);
    if (high == kDigits.npos || low == kDigits.npos) return {};
    out += static_cast<char>(high * 16 + low);
  }
  return CodeValue::of(std::move(out));
}

// Of the harness's lines, in order; the first that is not in order ends them, and what is missing says why.
std::vector<TestOutput> outputs_of(const std::string& lines, size_t count, const std::string& why_missing) {
  std::vector<TestOutput> out;
  for (size_t at = 0; at < lines.size() && out.size() < count;) {
    const size_t end = std::min(lines.find('\n', at), lines.size());
    const std::string_view line = std::string_view(lines).substr(at, end - at);
    const std::string number = fmt::format("{} ", out.size());
    if (!line.starts_with(number)) break;
    const std::string_view text = line.substr(number.size());
    TestOutput o{decoded(text)};
    if (!o.value) o.problem = text.starts_with("e ") ? text.substr(2, 100) : "an unreadable result";
    out.push_back(std::move(o));
    at = end + 1;
  }
  out.resize(count, TestOutput{.problem = why_missing});
  return out;
}

std::string why_missing(const sandbox::Result& r) {
  if (r.end != sandbox::End::exit)
    return fmt::format("stopped: {}", r.end == sandbox::End::signal ? "a signal" : sandbox::end_name(r.end));
  if (r.status == kNotCompiled) {
    const size_t error = r.err.find("error:");
    const std::string said = error == r.err.npos ? r.err : r.err.substr(error + 7);
    return "does not compile: " + said.substr(0, std::min<size_t>(said.find('\n'), 100));
  }
  if (r.out.starts_with("- ")) return "does not compile: " + r.out.substr(2, r.out.find('\n') - 2);
  return "the tests were ended";
}

}  // namespace

CodeRunner::CodeRunner(CodeLanguage language) : language_(language), pool_(policy_of(), 2) {
  const bool python = language == CodeLanguage::python;
  const std::vector<Arguments> one = {{CodeValue::of(1)}};
  const auto out =
      run(python ? "def f(x):\n    return x + 1\n" : "long long f(long long x) { return x + 1; }\n", {}, one);
  if (out[0].value != CodeValue::of(2))
    fail("{} does not work in the sandbox: {}", python ? "python3" : "cc", out[0].problem);
}

std::vector<TestOutput> CodeRunner::run(const std::string& source, const CodeSignature& signature,
                                        std::span<const Arguments> arguments) {
  if (source.size() > kMaxSource)
    return std::vector<TestOutput>(arguments.size(), {.problem = "a program of more than 100000 bytes"});
  const bool python = language_ == CodeLanguage::python;
  std::string harness = python ? python_harness(arguments) : c_harness(signature, arguments);
  if (auto known = remembered(source, harness)) return *std::move(known);
  sandbox::Command c;
  if (python) {
    c.argv = {"python3", "-I", "-S", "/work/run.py"};
    c.files = {{"answer.py", source}, {"run.py", harness}};
  } else {
    c.argv = {
        "sh", "-c",
        fmt::format("cc -std=gnu17 -O1 -w -pipe -o run run.c answer.c -lm || exit {}; exec ./run", kNotCompiled)};
    c.files = {{"answer.c", source}, {"run.c", harness}};
  }
  const sandbox::Result r = pool_.run(c);
  Remembered run{source, std::move(harness), outputs_of(r.out, arguments.size(), why_missing(r))};
  const std::vector<TestOutput> outputs = run.outputs;
  if (r.end == sandbox::End::exit) remember(std::move(run));
  return outputs;
}

std::optional<std::vector<TestOutput>> CodeRunner::remembered(const std::string& source,
                                                              const std::string& harness) const {
  const std::lock_guard lock(mutex_);
  const auto at =
      std::ranges::find_if(runs_, [&](const Remembered& r) { return r.source == source && r.harness == harness; });
  return at == runs_.end() ? std::nullopt : std::optional(at->outputs);
}

// Not what a limit stopped, which depends on the machine as well.
void CodeRunner::remember(Remembered run) {
  const bool timed_out = std::ranges::any_of(run.outputs, [](const TestOutput& o) { return o.problem == "time"; });
  if (timed_out || run.source.size() > kMaxRemembered) return;
  const std::lock_guard lock(mutex_);
  runs_.push_front(std::move(run));
  if (runs_.size() > kRunsRemembered) runs_.pop_back();
}

CodeRunner& shared_runner(CodeLanguage language) {
  if (language == CodeLanguage::python) {
    static CodeRunner python(CodeLanguage::python);
    return python;
  }
  static CodeRunner c(CodeLanguage::c);
  return c;
}

std::optional<std::string> why_unavailable(CodeLanguage language) {
  try {
    shared_runner(language);
    return {};
  } catch (const Error& e) {
    return e.what();
  }
}

std::vector<Arguments> arguments_of(std::span<const CodeTest> tests) {
  std::vector<Arguments> out;
  for (const CodeTest& t : tests) out.push_back(t.arguments);
  return out;
}

TestCount count_passed(std::span<const TestOutput> outputs, std::span<const CodeTest> tests) {
  TestCount c{.total = tests.size()};
  std::string first;
  for (size_t i = 0; i < tests.size(); ++i) {
    const TestOutput& o = outputs[i];
    if (o.value == tests[i].expected)
      ++c.passed;
    else if (first.empty())
      first = fmt::format("f({}): expected {}, {}", text_of(tests[i].arguments), text_of(tests[i].expected),
                          o.value ? "found " + text_of(*o.value).substr(0, 200) : o.problem);
  }
  c.reason = c.passed == c.total ? fmt::format("all {} tests pass", c.total)
                                 : fmt::format("{} of {} tests pass; {}", c.passed, c.total, first);
  return c;
}

}  // namespace quern::code
