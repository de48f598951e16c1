// Runs a function that somebody else wrote, in Python or C, on many arguments in one sandbox. Inside, a harness starts
// a process for each test and writes down what the function returned; expected results never enter the sandbox, so that
// the only way to a right result is to compute it. A test that ends the process, loops, or eats memory loses itself.
// The last few runs are remembered: samples of one problem often are the same program.
#pragma once
#include <deque>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "quern/code/code_value.h"
#include "quern/sandbox/sandbox_pool.h"

namespace quern::code {

enum class CodeLanguage { python, c };

struct TestOutput {
  std::optional<CodeValue> value = {};
  std::string problem = {};  // why there is none: "ValueError", "time", "ended"
};

class CodeRunner {
 public:
  // Throws Error where code cannot be isolated here, or the interpreter or compiler is missing.
  explicit CodeRunner(CodeLanguage language);
  // One output for each arguments; any text may be given as the source. From any thread. Throws Error only where the
  // sandbox fails.
  std::vector<TestOutput> run(const std::string& source, const CodeSignature& signature,
                              std::span<const Arguments> arguments);

 private:
  struct Remembered {
    std::string source, harness;
    std::vector<TestOutput> outputs = {};
  };
  std::optional<std::vector<TestOutput>> remembered(const std::string& source, const std::string& harness) const;
  void remember(Remembered run);

  CodeLanguage language_;
  sandbox::SandboxPool pool_;
  mutable std::mutex mutex_;
  std::deque<Remembered> runs_;  // newest first
};

// One for all callers of this process, made when it is first asked for. Throws as the constructor does.
CodeRunner& shared_runner(CodeLanguage language);
std::optional<std::string> why_unavailable(CodeLanguage language);  // nothing: shared_runner() works

struct TestCount {
  size_t passed = 0, total = 0;
  std::string reason = {};  // "all 12 tests pass", or how many do and what the first other one gave

  double share() const { return total == 0 ? 0 : static_cast<double>(passed) / static_cast<double>(total); }
};
TestCount count_passed(std::span<const TestOutput> outputs, std::span<const CodeTest> tests);
std::vector<Arguments> arguments_of(std::span<const CodeTest> tests);

}  // namespace quern::code
