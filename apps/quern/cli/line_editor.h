// A small line editor for the chat loop: cursor keys, Home/End, history, Ctrl-A/E/K/U/W, UTF-8. Without a terminal it
// reads plain lines.
#pragma once
#include <optional>
#include <string>
#include <vector>

namespace quern::cli {

class LineEditor {
 public:
  // nullopt at the end of input (Ctrl-D on an empty line). Ctrl-C gives an empty line.
  std::optional<std::string> read(const std::string& prompt);

 private:
  std::optional<std::string> edit(const std::string& prompt);
  std::vector<std::string> history_;
};

}  // namespace quern::cli
