// Added tokens: strings matched in the text before anything else and mapped to one id (special tokens, runs of
// newlines, tags). Longest match from the left, by a byte trie; a filter on the first byte skips most of the text.
// `normalized` tokens are matched, in their normalized spelling, in the normalized text; the others in the raw text.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "quern/base/json.h"
#include "quern/text/tokenizer/normalizer.h"

namespace quern::text {

struct AddedToken {
  int32_t id = -1;
  std::string content;  // as the file spells it
  std::string spelled;  // as it is looked for and decoded: normalized if `normalized`, as in the reference
  bool special = false, lstrip = false, rstrip = false, single_word = false, normalized = false;
};

enum class ParseSpecial : bool { no, yes };  // no: special tokens spelled in the text are plain text

class AddedTokenFinder {
 public:
  // The strings the tokens are looked for by, one each.
  void build(std::vector<std::pair<std::string, size_t>> patterns);  // string, index of its token
  bool empty() const { return nodes_.empty(); }

  struct Found {
    const AddedToken* token = nullptr;  // null at the end of the text
    size_t begin = 0, end = 0;          // with the spaces the token strips
    size_t next = 0;                    // where to look on
  };
  // `floor`: end of the part already given out; lstrip does not reach before it. `plain`: offsets, ascending, that no
  // token found may reach across.
  Found find(const std::vector<AddedToken>& tokens, std::string_view text, size_t from, size_t floor,
             ParseSpecial special, std::span<const size_t> plain = {}) const;

 private:
  struct Node {
    int32_t token = -1, child = -1, sibling = -1;
    unsigned char byte = 0;
  };
  int32_t child(int32_t node, unsigned char b) const;
  std::vector<Node> nodes_;
  int32_t root_[256];
  // The root's children two levels deep are dense, because nearly all failing look-ups stop there.
  std::vector<int32_t> second_;
};

}  // namespace quern::text
