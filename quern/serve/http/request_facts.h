// What a request turned out to be: filled in by what serves it, read by metrics and traces.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace quern::serve {

struct RequestFacts {
  std::string model;  // that answered; empty: none
  int64_t input_tokens = 0, cached_tokens = 0, output_tokens = 0;
  double first_token_seconds = -1;  // since the request was submitted to the engine; below 0: there was none
  double decode_seconds = 0;        // after the first token
  int64_t decoded_tokens = 0;       // in this time
  std::vector<std::string> finish_reasons = {};
  bool keep_output = false;  // the texts are wanted
  std::vector<std::string> outputs = {};
};

}  // namespace quern::serve
