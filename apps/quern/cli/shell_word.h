// A word in single quotes, for a POSIX shell.
#pragma once
#include <string>

namespace quern::cli {

inline std::string shell_word(const std::string& word) {
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace quern::cli
