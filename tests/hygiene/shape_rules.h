// How large a function may be, from the text of a source file to what exceeds it:
//
//   lines       a function in a .cc has at most kMaxFunctionLines, from its opening brace to its closing one
//   parameters  a signature in a header has at most kMaxParameters
//   bool        a signature in a header takes none by value: f(x, true) does not say what is true. Two ways are an enum
//               class or two functions, an option is a field
//
// Only the last has exceptions, where the bool is the value itself: bool_parameters.txt lists each with its reason.
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
  bool takes_bool = false;
};

// Every signature outside function bodies, in order: functions, constructors, function types, and what looks like them.
std::vector<Function> functions(std::string_view text);

std::vector<std::string> shape_complaints(std::span<const SourceFile> files);

struct BoolException {
  std::string path, name;  // of a header and a function in it
};

// Reads "PATH NAME REASON" lines and "#" comments. Throws where a reason is missing.
std::vector<BoolException> bool_exceptions(std::string_view list);

// Functions of headers that take a bool without an exception, and exceptions that excuse no function.
std::vector<std::string> bool_complaints(std::span<const SourceFile> files,
                                         std::span<const BoolException> exceptions);

}  // namespace quern::hygiene
