// How large a function may be, from the text of a source file to what exceeds it:
//
//   lines       a function in a .cc has at most kMaxFunctionLines, from its opening brace to its closing one
//   parameters  a signature in a header has at most kMaxParameters
//
// There are no exceptions.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tests/hygiene/include_rules.h"

namespace quern::hygiene {

inline constexpr int kMaxFunctionLines = 80, kMaxParameters = 6;

struct Function {
  std::string name;
  int line = 0;        // of its name
  int parameters = 0;  // of the signature
  int lines = 0;       // of the body; 0 for a declaration
};

// Every signature outside function bodies, in order: functions, constructors, function types, and what looks like them.
std::vector<Function> functions(std::string_view text);

std::vector<std::string> shape_complaints(std::span<const SourceFile> files);

}  // namespace quern::hygiene
