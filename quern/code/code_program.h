// Programs of generated tasks: steps in a row, each an operation or a choice between two. One program has a description
// in English, its text in Python, C and the list language, and its results, computed here.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "quern/code/operations.h"

namespace quern::code {

struct StepAction {
  const CodeOperation* operation = nullptr;
  int64_t constant = 0;
  bool uses_k = false;  // the second argument instead of the constant
};

struct CodeStep {
  StepAction action = {};
  // Where there is a condition, `otherwise` is done if it does not hold.
  const CodeCondition* condition = nullptr;
  int64_t condition_constant = 0;
  StepAction otherwise = {};

  ValueType in() const { return action.operation->in; }
  ValueType out() const { return action.operation->out; }
};

struct CodeProgram {
  bool has_k = false;
  std::vector<CodeStep> steps = {};  // one or more

  ValueType in() const { return steps.front().in(); }
  ValueType out() const { return steps.back().out(); }
  CodeSignature signature() const { return {in(), out(), has_k}; }
};

std::optional<CodeValue> run(const CodeStep& step, const CodeValue& x, int64_t k);
// Nothing where a number goes beyond kMaxNumber or a list beyond 10000 numbers.
std::optional<CodeValue> run(const CodeProgram& program, const Arguments& a);

std::string description_of(const CodeStep& step);                      // "add 3 to each number"
std::string description_of(const CodeProgram& program);                // steps separated by "; then "
std::string trace_of(const CodeProgram& program, const Arguments& a);  // "x = [1, 2]. Reverse the list: [2, 1]."

std::string python_of(const CodeProgram& program);         // def f(x): …
std::string c_of(const CodeProgram& program);              // long long f(…) { … }
std::string list_language_of(const CodeProgram& program);  // f(x) = …

Json to_json(const CodeProgram& program);
CodeProgram program_from(const Json& j);  // throws Error for what is no program

}  // namespace quern::code
