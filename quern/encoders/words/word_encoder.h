// WordEncoder: a static embedding of texts. Every known word (English stem, no stop words) has a row; the vector of a text is
// the sum of the rows of its distinct words, divided by its length. The lengths of rows are learned too: they say how much a
// word counts. A text without a known word has the vector 0.
//
//   e(text) = Σ_w row(w) / |Σ_w row(w)|
//
// File: "quern-words-1\n", u32 rows, u32 width, u32 bytes of the words, u64 check of the rest; the words in ascending order, a
// newline behind each; f32 scales, one a row; rows of 4 bits, two numbers a byte, value = scale · (nibble − 8).
// Cost: one look-up and `width` additions a word.
#pragma once
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quern/recall/words/tokens.h"

namespace quern::encoders {

class WordEncoder {
 public:
  // Rows in f32 [words.size(), width], which are rounded to 4 bits; words ascending.
  WordEncoder(std::vector<std::string> words, std::span<const float> rows, int64_t width);
  static WordEncoder load(const std::filesystem::path& file);
  static WordEncoder parse(std::string_view bytes, const std::string& name);  // throws Error on a damaged file
  std::string bytes() const;

  int64_t width() const { return width_; }
  int64_t rows() const { return static_cast<int64_t>(words_.size()); }
  uint64_t fingerprint() const { return check_; }
  const std::string& word(uint32_t row) const { return words_[row]; }

  // What one thread needs; holds the last words as they were written.
  struct Reader {
    Reader();
    recall::WordKeys words;
    std::vector<uint64_t> keys;
    std::vector<uint32_t> known;
  };
  // Rows of the distinct known words, ascending.
  std::span<const uint32_t> known_words(std::string_view text, Reader& reader) const;
  // Returns how many words it knows; out: of length 1, or 0 if there is none.
  size_t embed(std::string_view text, Reader& reader, std::span<float> out) const;
  // The rows whose direction is nearest to a text's vector, nearest first.
  std::vector<uint32_t> nearest(std::span<const float> text, size_t n) const;

 private:
  WordEncoder() = default;
  void unpack();
  std::span<const float> row(uint32_t i) const {
    return {rows_.data() + size_t{i} * static_cast<size_t>(width_), static_cast<size_t>(width_)};
  }
  int64_t width_ = 0;
  std::vector<std::string> words_;
  std::vector<float> scales_;
  std::vector<uint8_t> packed_;
  uint64_t check_ = 0;
  std::vector<float> rows_;
  recall::KeyMap row_of_;
};

// As a folder, which shipped_words.h reads.
inline constexpr const char *kWordModelType = "word-vectors", *kWordFile = "words.bin";
void save_word_encoder(const WordEncoder& encoder, const std::filesystem::path& folder);

recall::TokenOptions word_encoder_tokens();

}  // namespace quern::encoders
