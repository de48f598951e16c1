// "code": {"language": "python" | "c", "tests": [{"arguments": [x] or [x, k], "result": …}, …]}. The function f of the last
// block between ``` fences is run on the tests in the sandbox; the reward is the share that passes. Values are integers,
// lists of integers and, in Python, texts.
#pragma once
#include "quern/verify/verifier.h"

namespace quern::gym {

// Throws Error naming the field that is ill-formed, or saying why code cannot be judged on this machine.
std::unique_ptr<const verify::Verifier> make_code_verifier(const Json& expectation);

// That of an expectation of a task: any of verify::verifiers(), or code.
std::unique_ptr<const verify::Verifier> make_task_verifier(const Json& expectation);

}  // namespace quern::gym
