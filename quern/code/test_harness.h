// The programs that call an untrusted function inside a sandbox, once for each test in a process of its own. They write
// one line for each: its number and "n 12", "l 1 2 3", "t 6162" (hexadecimal) or "e" with what went wrong.
#pragma once
#include <span>
#include <string>

#include "quern/code/code_runner.h"

namespace quern::code {

constexpr double kTestSeconds = 1;          // of one test
constexpr int64_t kTestMemory = 128 << 20;  // bytes of one process of a test

std::string python_harness(std::span<const Arguments> arguments);  // runs /work/answer.py
std::string c_harness(const CodeSignature& signature, std::span<const Arguments> arguments);

}  // namespace quern::code
