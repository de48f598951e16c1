// A tokenizer's vocabulary as a trie of the tokens' bytes, flat and depth first, so that one pass with a state per
// depth visits all tokens a grammar can read. Special tokens and empty tokens are left out. Cost: building spells and
// sorts all tokens, once per model; 12 bytes per node.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "quern/text/tokenizer/tokenizer.h"

namespace quern::text {

class TokenTrie {
 public:
  struct Node {
    uint32_t skip;  // the first node that is not below this one
    int32_t token;  // −1: none ends here
    uint16_t depth;
    uint8_t byte;
  };
  // `spelled`: special tokens that take part all the same, by their spelling.
  explicit TokenTrie(const Tokenizer& tokenizer, const std::vector<std::string>& spelled = {});
  std::span<const Node> nodes() const { return nodes_; }
  const std::string& bytes(int32_t token) const { return bytes_[static_cast<size_t>(token)]; }
  int32_t same(int32_t token) const { return same_[static_cast<size_t>(token)]; }  // the next of equal bytes, or −1
  int32_t size() const { return static_cast<int32_t>(bytes_.size()); }
  size_t mask_words() const { return (bytes_.size() + 63) / 64; }
  size_t depth() const { return depth_; }
  int32_t close_think() const { return close_think_; }              // the token </think>, special or not; or −1
  const std::vector<int32_t>& closers() const { return closers_; }  // tokens of bytes that may complete </think>

 private:
  std::vector<Node> nodes_;
  std::vector<std::string> bytes_;
  std::vector<int32_t> same_;
  size_t depth_ = 0;
  int32_t close_think_ = -1;
  std::vector<int32_t> closers_;
};

// The bytes tokens add to a text, whole characters or not; none for special tokens.
class TokenSpelling {
 public:
  explicit TokenSpelling(const Tokenizer& tokenizer);
  std::string bytes(int32_t token) const;
  std::string decoded(int32_t token) const;  // the same by decoding, which costs far more

 private:
  enum class Kind { byte_level, blank_sign, other };  // blank_sign: U+2581 is a blank, <0x..> a byte
  const Tokenizer& tokenizer_;
  Kind kind_ = Kind::other;
  int32_t letter_ = -1;
  std::string before_;
};

}  // namespace quern::text
