// SentencePiece's compiled rewriting of characters ("Precompiled" in tokenizer.json): a double-array trie from byte
// strings to offsets into a blob of replacements. Cost: a few array reads per byte.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace quern::text {

class CharacterMap {
 public:
  static CharacterMap from_base64(std::string_view text);  // throws Error when it is damaged
  void apply(std::string& text) const;

 private:
  // The replacement of the shortest key that `s` begins with; false: none.
  bool find(std::string_view s, std::string_view& to) const;
  void rewrite(std::string_view grapheme, std::string& out) const;
  std::vector<uint32_t> units_;
  std::string replacements_;
};

}  // namespace quern::text
