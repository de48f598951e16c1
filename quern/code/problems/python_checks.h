// Test helper: what Python itself makes of the programs in questions; all of them in one sandbox.
#pragma once
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "quern/base/error.h"
#include "quern/code/code_runner.h"

namespace quern::code {

// What each program prints, without the end of its line. Programs end with one print().
inline std::vector<std::string> python_prints(const std::vector<std::string>& programs) {
  std::string source;
  for (const std::string& p : programs) source += p + "\n";
  const sandbox::Result r = sandbox::run({.limits = {.seconds = 20, .output_mib = 8}},
                                         {.argv = {"python3", "-I", "-S", "a.py"}, .files = {{"a.py", source}}});
  EXPECT_EQ(r.status, 0) << r.err.substr(0, 1000);
  std::vector<std::string> lines(1);
  for (char c : r.out) c == '\n' ? lines.emplace_back() : lines.back() += c;
  lines.pop_back();
  EXPECT_EQ(lines.size(), programs.size());
  lines.resize(programs.size());
  return lines;
}

// The code between ```python and ``` in a question.
inline std::string python_in(const std::string& question) {
  const size_t from = question.find("```python\n") + 10;
  return question.substr(from, question.find("```", from) - from);
}

}  // namespace quern::code

// Skips a test where no Python can be isolated.
#define QUERN_NEEDS_PYTHON() \
  if (const auto why = ::quern::code::why_unavailable(::quern::code::CodeLanguage::python)) GTEST_SKIP() << *why
