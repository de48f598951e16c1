#include "quern/text/tokenizer/added_tokens.h"

#include <algorithm>

#include "quern/text/unicode/unicode.h"
#include "quern/text/unicode/utf8.h"

namespace quern::text {

int32_t AddedTokenFinder::child(int32_t node, unsigned char b) const {
  int32_t c = nodes_[static_cast<size_t>(node)].child;
  while (c >= 0 && nodes_[static_cast<size_t>(c)].byte != b) c = nodes_[static_cast<size_t>(c)].sibling;
  return c;
}

void AddedTokenFinder::build(std::vector<std::pair<std::string, size_t>> patterns) {
  nodes_.clear();
  std::fill(std::begin(root_), std::end(root_), -1);
  for (const auto& [text, token] : patterns) {
    if (text.empty()) continue;
    auto first = static_cast<unsigned char>(text[0]);
    if (root_[first] < 0) {
      root_[first] = static_cast<int32_t>(nodes_.size());
      nodes_.push_back({-1, -1, -1, first});
    }
    int32_t at = root_[first];
    for (size_t i = 1; i < text.size(); ++i) {
      auto b = static_cast<unsigned char>(text[i]);
      int32_t next = child(at, b);
      if (next < 0) {
        next = static_cast<int32_t>(nodes_.size());
        nodes_.push_back({-1, -1, nodes_[static_cast<size_t>(at)].child, b});
        nodes_[static_cast<size_t>(at)].child = next;
      }
      at = next;
    }
    auto& mine = nodes_[static_cast<size_t>(at)].token;
    if (mine < 0) mine = static_cast<int32_t>(token);
  }
  second_.assign(256 * 256, -1);
  for (size_t a = 0; a < 256; ++a) {
    if (root_[a] < 0) continue;
    for (int32_t c = nodes_[static_cast<size_t>(root_[a])].child; c >= 0; c = nodes_[static_cast<size_t>(c)].sibling)
      second_[a * 256 + nodes_[static_cast<size_t>(c)].byte] = c;
  }
}

AddedTokenFinder::Found AddedTokenFinder::find(const std::vector<AddedToken>& tokens, std::string_view text,
                                               size_t from, size_t floor, ParseSpecial special,
                                               std::span<const size_t> plain) const {
  auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  for (size_t i = from; i < text.size(); ++i) {
    int32_t node = root_[byte(i)];
    if (node < 0) continue;
    int32_t best = nodes_[static_cast<size_t>(node)].token;
    size_t best_end = i + 1;
    if (i + 1 < text.size()) {
      node = second_[byte(i) * 256u + byte(i + 1)];
      for (size_t k = i + 2; node >= 0; ++k) {
        if (nodes_[static_cast<size_t>(node)].token >= 0) {
          best = nodes_[static_cast<size_t>(node)].token;
          best_end = k;
        }
        if (k >= text.size()) break;
        node = child(node, byte(k));
      }
    }
    if (best < 0) continue;
    const AddedToken& t = tokens[static_cast<size_t>(best)];
    size_t begin = i, end = best_end;
    i = best_end - 1;  // a refused match is still consumed, as in the reference
    if (t.special && special == ParseSpecial::no) continue;
    if (auto p = std::upper_bound(plain.begin(), plain.end(), begin); p != plain.end() && *p < end) continue;
    if (t.single_word) {
      bool left = begin == 0 || !unicode_is_word(utf8_before(text, begin).cp);
      bool right = end == text.size() || !unicode_is_word(utf8_at(text, end).cp);
      if (!left || !right) continue;
    }
    if (t.lstrip) {
      while (begin > floor) {
        Utf8Char c = utf8_before(text, begin);
        if (!unicode_is_space(c.cp)) break;
        begin -= c.len;
      }
      begin = std::max(begin, floor);
    }
    if (t.rstrip) {
      while (end < text.size()) {
        Utf8Char c = utf8_at(text, end);
        if (!unicode_is_space(c.cp)) break;
        end += c.len;
      }
    }
    return {&t, begin, end, best_end};
  }
  return {};
}

}  // namespace quern::text
