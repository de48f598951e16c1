// Random programs that do something on their tests, their wrong neighbors, and code tasks made of them.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "quern/code/code_program.h"

namespace quern::code {

struct TaskSize {
  Dialect dialect = Dialect::python;
  int64_t difficulty = 0;
  size_t shown = 3, hidden = 12;  // tests
  int64_t max_steps = 12;
};

// A program with what it may be given, its description, and tests by its own results: those shown to the learner and
// those it is judged by, none of which is shown.
struct CodeTask {
  CodeProgram program;
  InputFormat format;
  std::vector<CodeTest> shown, hidden;

  std::string examples() const;  // "f([1]) = 2, f([]) = 0"
};

// difficulty / 2 + 1 steps, up to max_steps; lists and numbers grow with them. From difficulty 2 on a step may be a
// choice, and the function may have a second argument k.
CodeTask random_task(Rng& r, const TaskSize& size);
inline int64_t last_difficulty(const TaskSize& size) { return 2 * (size.max_steps - 1); }  // from there on as hard

// The task's program with one error: another constant, another operation, two steps swapped or one left out. It has
// another result on some of the tests, and the right one on some; nothing where none was found.
std::optional<CodeProgram> with_error(const CodeTask& task, Rng& r, Dialect dialect);

// Arguments among the task's tests on which both have different results.
std::vector<Arguments> differences(const CodeTask& task, const CodeProgram& other);

}  // namespace quern::code
