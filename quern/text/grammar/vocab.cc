// Tokens as bytes, and their trie.
#include "quern/text/grammar/vocab.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "quern/text/tokenizer/byte_level.h"

namespace quern::text {

namespace {

constexpr std::string_view kBlankSign = "\u2581";

std::optional<char> byte_token(std::string_view spelled) {  // <0x0A>
  unsigned byte = 0;
  if (spelled.size() != 6 || !spelled.starts_with("<0x") || spelled.back() != '>') return std::nullopt;
  if (std::from_chars(spelled.data() + 3, spelled.data() + 5, byte, 16).ptr != spelled.data() + 5)
    return std::nullopt;
  return static_cast<char>(byte);
}

}  // namespace

// Decoders treat the beginning of a text apart, hence the ordinary letter before the token asked about. How the two
// usual kinds of vocabulary spell a blank tells them apart.
TokenSpelling::TokenSpelling(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {
  for (char c = 'a'; c <= 'z' && letter_ < 0; ++c) letter_ = tokenizer.token_to_id(std::string(1, c));
  if (letter_ < 0) return;
  before_ = tokenizer.decode(std::span(&letter_, 1));
  std::string blank;
  to_byte_level(" ", blank);
  auto is_blank = [&](std::string_view spelled) {
    const int32_t id = tokenizer.token_to_id(spelled);
    return id >= 0 && decoded(id) == " ";
  };
  if (is_blank(blank))
    kind_ = Kind::byte_level;
  else if (is_blank(kBlankSign))
    kind_ = Kind::blank_sign;
}

std::string TokenSpelling::bytes(int32_t token) const {
  if (kind_ == Kind::other) return decoded(token);
  if (tokenizer_.is_special(token)) return {};
  std::string spelled = tokenizer_.id_to_token(token), out;
  if (kind_ == Kind::byte_level) {
    from_byte_level(spelled, out);
    return out;
  }
  if (const auto byte = byte_token(spelled)) return std::string(1, *byte);
  for (size_t at = 0; (at = spelled.find(kBlankSign, at)) != spelled.npos; ++at)
    spelled.replace(at, kBlankSign.size(), " ");
  return spelled;
}

// A token that is no whole characters has to be read from its spelling.
std::string TokenSpelling::decoded(int32_t token) const {
  if (tokenizer_.is_special(token)) return {};
  const std::string spelled = tokenizer_.id_to_token(token);
  if (spelled.empty()) return {};
  const int32_t pair[] = {letter_, token};
  const std::string text = tokenizer_.decode(letter_ >= 0 ? std::span(pair) : std::span(pair).subspan(1));
  if (text.starts_with(before_) && text.find("\uFFFD") == text.npos) return text.substr(before_.size());
  if (const auto byte = byte_token(spelled)) return std::string(1, *byte);
  std::string out;
  from_byte_level(spelled, out);
  return out;
}

TokenTrie::TokenTrie(const Tokenizer& tokenizer, const std::vector<std::string>& spelled) {
  const int32_t n = tokenizer.vocab_size();
  bytes_.resize(static_cast<size_t>(n));
  same_.assign(static_cast<size_t>(n), -1);
  const TokenSpelling spelling(tokenizer);
  close_think_ = tokenizer.token_to_id("</think>");
  std::vector<int32_t> order;
  for (int32_t id = 0; id < n; ++id) {
    bytes_[static_cast<size_t>(id)] = spelling.bytes(id);
    if (!spelled.empty() && tokenizer.is_special(id))
      if (auto s = std::find(spelled.begin(), spelled.end(), tokenizer.id_to_token(id)); s != spelled.end())
        bytes_[static_cast<size_t>(id)] = *s;
    const size_t length = bytes(id).size();
    // In a token the tag ends with its first '>' behind an end of "</think", unless it lies further inside.
    constexpr std::string_view kClose = "</think>";
    const std::string_view b = bytes(id);
    bool closes = b.find(kClose) != b.npos;
    if (const size_t end = b.find('>'); end < kClose.size())
      closes = closes || kClose.ends_with(b.substr(0, end + 1));
    if (closes) closers_.push_back(id);
    if (length > 0 && length < UINT16_MAX) order.push_back(id);
  }
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) { return bytes(a) < bytes(b); });
  std::vector<size_t> path;  // the nodes above, from depth 0
  auto close = [&](size_t depth) {
    for (; path.size() > depth; path.pop_back()) nodes_[path.back()].skip = static_cast<uint32_t>(nodes_.size());
  };
  const std::string* last = nullptr;
  int32_t last_id = -1;
  for (int32_t id : order) {
    const std::string& b = bytes(id);
    if (last && b == *last) {
      same_[static_cast<size_t>(last_id)] = id, last_id = id;
      continue;
    }
    size_t common = 0;
    while (last && common < std::min(last->size(), b.size()) && (*last)[common] == b[common]) ++common;
    close(common);
    for (size_t d = common; d < b.size(); ++d) {
      path.push_back(nodes_.size());
      nodes_.push_back({0, -1, static_cast<uint16_t>(d), static_cast<uint8_t>(b[d])});
    }
    nodes_.back().token = id;
    depth_ = std::max(depth_, b.size());
    last = &b, last_id = id;
  }
  close(0);
}

}  // namespace quern::text
