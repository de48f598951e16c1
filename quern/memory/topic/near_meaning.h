// How near texts come to a topic in meaning, where they need not have a word of it: the cosine of their vectors by the shipped
// word encoder (models/words, English), and words that begin alike ("teamwork" and "team"), in any language. Ten
// microseconds a turn.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "quern/encoders/words/word_encoder.h"

namespace quern::memory {

class NearMeaning {
 public:
  explicit NearMeaning(std::string_view topic);
  double nearness(std::string_view text);
  std::string near_words(size_t n) const;  // the encoder's nearest, as a query; empty: it knows no word of the topic

 private:
  double shared_beginning(std::string_view text) const;
  const encoders::WordEncoder& encoder_;
  encoders::WordEncoder::Reader reader_;
  std::vector<float> topic_, text_;
  std::vector<std::string> words_;
  bool known_ = false;
};

}  // namespace quern::memory
