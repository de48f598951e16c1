// Incremental detokenization up to the first stop string. Text that may be the beginning of a stop string is held
// back; the stop string itself is never emitted.
#pragma once
#include <string>
#include <vector>

#include "quern/text/tokenizer/tokenizer.h"

namespace quern::infer {

class TextStream {
 public:
  TextStream(const text::Tokenizer& tokenizer, std::vector<std::string> stops);
  std::string push(int32_t token);
  std::string finish();  // what was held back, if no stop string came
  bool stopped() const { return stopped_; }

 private:
  enum class Input { open, ended };
  std::string release(std::string fresh, Input input);
  text::StreamDecoder decoder_;
  std::vector<std::string> stops_;
  std::string held_;
  bool stopped_ = false;
};

}  // namespace quern::infer
