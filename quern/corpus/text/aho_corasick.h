// Aho–Corasick automaton (1975): finds all words of a list in one pass over bytes, with a full table of states by
// classes of bytes that some word distinguishes. In valid UTF-8, valid words are found at character boundaries
// automatically. Cost: one dependent load per byte; 4 bytes per state and class, at most one state per byte of all
// words and one more.
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace quern::corpus {

class AhoCorasick {
 public:
  AhoCorasick() : AhoCorasick(std::span<const std::string>()) {}
  explicit AhoCorasick(std::span<const std::string> words);  // none empty, no word twice

  // found(word's index, byte behind it) for every occurrence, overlapping ones too, by where they end.
  template <class F>
  void scan(std::string_view s, F&& found) const {
    uint32_t state = 0;
    for (size_t i = 0; i < s.size(); ++i) {
      state = next_[state * size_t{classes_} + class_of_[static_cast<unsigned char>(s[i])]];
      for (uint32_t k = ends_[state]; k != 0; k = shorter_[k]) found(word_[k], i + 1);
    }
  }

 private:
  uint32_t classes_ = 1;  // class 0: bytes in no word
  std::array<uint8_t, 256> class_of_{};
  std::vector<uint32_t> next_;     // state × class
  std::vector<uint32_t> ends_;     // of a state: the longest of its suffixes (itself too) that is a word; 0: none
  std::vector<uint32_t> shorter_;  // of a state: the next shorter such suffix
  std::vector<uint32_t> word_;     // of a state that is a word
};

}  // namespace quern::corpus
