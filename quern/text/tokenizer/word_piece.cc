#include "quern/text/tokenizer/word_piece.h"

#include <algorithm>

#include "quern/base/error.h"
#include "quern/text/unicode/utf8.h"

namespace quern::text {

void WordPiece::finish(const Vocab& v) {
  unk_ = v.find(unk_token);
  if (unk_ < 0) fail("tokenizer.json: model.unk_token '{}' is not in the vocabulary", unk_token);
  longest_ = 0;
  for (int32_t id = 0; id < v.end(); ++id)
    if (v.has(id)) longest_ = std::max(longest_, v.token(id).size());
}

void WordPiece::encode(const Vocab& v, std::string_view word, std::vector<int32_t>& out) const {
  if (static_cast<int64_t>(utf8_length(word)) > max_characters) return out.push_back(unk_);
  const size_t before = out.size();
  std::string piece;
  for (size_t at = 0; at < word.size();) {
    piece.assign(at > 0 ? prefix : std::string());
    const size_t mark = piece.size();
    piece += word.substr(at, longest_);
    size_t n = piece.size();
    int32_t id = -1;
    for (; n > mark; --n) {
      const bool whole =
          at + n - mark == word.size() || (static_cast<unsigned char>(word[at + n - mark]) & 0xC0) != 0x80;
      if (whole && (id = v.find(std::string_view(piece).substr(0, n))) >= 0) break;
    }
    if (id < 0) {
      out.resize(before);
      return out.push_back(unk_);
    }
    out.push_back(id);
    at += n - mark;
  }
}

}  // namespace quern::text
