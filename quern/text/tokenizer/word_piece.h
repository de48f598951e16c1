// WordPiece: a word becomes the longest token that it begins with, then the longest continuation ("##…") of the rest,
// and so on; a word that cannot be spelled so, or that is too long, is the unknown token as a whole. Cost: at most
// one lookup per shorter prefix.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "quern/text/tokenizer/vocab.h"

namespace quern::text {

struct WordPiece {
  std::string unk_token = "[UNK]", prefix = "##";
  int64_t max_characters = 100;

  void finish(const Vocab& v);  // after the last change; throws Error without an unknown token
  void encode(const Vocab& v, std::string_view word, std::vector<int32_t>& out) const;

 private:
  int32_t unk_ = -1;
  size_t longest_ = 0;  // bytes of a token
};

}  // namespace quern::text
