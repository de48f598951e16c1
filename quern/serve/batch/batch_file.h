// The lines of a batch's input, {"custom_id", "method", "url", "body"}, and of its results.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "quern/base/json.h"

namespace quern::serve {

struct BatchLine {
  std::string custom_id;
  Json body;
};

struct BatchFault {
  std::string code, message;
  int64_t line = 0;  // from 1
  Json json() const;
};

struct BatchInput {
  std::vector<BatchLine> lines;
  std::vector<BatchFault> faults;  // none: every line can be run
};
BatchInput read_batch_input(std::string_view text, const std::string& endpoint);

// One line of an output or error file.
std::string result_line(const BatchLine& line, int status, const std::string& request_id, const std::string& body);

// custom_id → whether it is there; a last line that was cut off is taken from the text.
std::map<std::string, bool> finished_lines(std::string& text);

}  // namespace quern::serve
