// Lines of a chat that are commands and no messages: /new, /system TEXT.
#pragma once
#include <algorithm>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace quern::cli {

// What to say of a line that begins like a command, "/word", where there is none of that name; empty for a message.
inline std::string unknown_command(std::string_view line) {
  const std::string_view word = line.substr(0, line.find(' '));
  const bool command = word.size() > 1 && word[0] == '/' &&
                       std::all_of(word.begin() + 1, word.end(), [](char c) { return c >= 'a' && c <= 'z'; });
  if (!command) return {};
  return fmt::format("there is no command {}; /help lists them, and a space before it makes it a message", word);
}

}  // namespace quern::cli
