// Words of a text with their byte offsets, and the keys that identify them in indices. A word is a run of letters,
// digits and marks; a character of a script written without spaces (Han, kana, Thai, Lao, Khmer, Burmese) is a word by
// itself; everything else separates, including ill-formed UTF-8 and '_'. The normal form is NFKC, lower case, without
// marks; on request English function words are dropped and stems used (Porter for English, Snowball for other
// languages). Cost: about a nanosecond per byte of ASCII.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "quern/recall/words/key_map.h"

namespace quern::recall {

inline constexpr std::string_view kEnglish = "english";

struct TokenOptions {
  bool stem = false;               // the stem stands for the word
  bool drop_stopwords = false;     // function words; only those of English are known
  std::string language{kEnglish};  // one of stem_languages()
  bool operator==(const TokenOptions&) const = default;
};

enum class CharKind : uint8_t { separator, word, single };
struct CharStep {
  uint32_t len;
  CharKind kind;
};
CharStep step_beyond_ascii(std::string_view text, size_t i);  // text[i] ≥ 0x80; any bytes

inline constexpr std::array<bool, 256> kAsciiWord = [] {
  std::array<bool, 256> t{};
  for (int c = 0; c < 128; ++c)
    t[static_cast<size_t>(c)] = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  return t;
}();

// Calls f(begin, end) for every word.
template <class F>
void for_each_word(std::string_view text, F&& f) {
  size_t i = 0;
  const size_t n = text.size();
  while (i < n) {
    unsigned char c = static_cast<unsigned char>(text[i]);
    if (c < 0x80 && !kAsciiWord[c]) {
      ++i;
      continue;
    }
    const size_t begin = i;
    while (i < n) {
      c = static_cast<unsigned char>(text[i]);
      if (kAsciiWord[c]) {
        ++i;
        continue;
      }
      if (c < 0x80) break;
      const CharStep s = step_beyond_ascii(text, i);
      if (s.kind == CharKind::word) {
        i += s.len;
        continue;
      }
      if (i > begin) f(begin, i);
      if (s.kind == CharKind::single) f(i, i + s.len);
      i += s.len;
      goto next_word;
    }
    f(begin, i);
  next_word:;
  }
}

std::string normal_form(std::string_view word, const TokenOptions& options);  // "" when the word is dropped
void normal_form(std::string_view word, const TokenOptions& options, std::string& form);  // the same, into form
bool is_stopword(std::string_view lower);                                                 // English
void porter_stem(std::string& lower);  // English; ASCII letters in lower case, anything else is left alone
std::vector<std::string> stem_languages();
void check_language(std::string_view language);  // throws Error naming the known ones
std::vector<std::string> words_of(std::string_view text, const TokenOptions& options = {});  // normal forms, in order

// Keys of a text's words, in order, dropped ones left out. Remembers the keys of recent words as they were written,
// so that normal forms are rarely made; one object a thread.
class WordKeys {
 public:
  explicit WordKeys(const TokenOptions& options);  // throws Error on an unknown language
  void append(std::string_view text, std::vector<uint64_t>& out) {
    for_each_word(text, [&](size_t begin, size_t end) {
      const std::string_view word = text.substr(begin, end - begin);
      const uint64_t raw = word_key(word);
      Recent& r = recent_[raw % kRecent];
      if (r.raw != raw) r = {raw, key_of(word)};
      if (r.key != kDropped) out.push_back(r.key);
    });
  }
  const TokenOptions& options() const { return options_; }

 private:
  static constexpr size_t kRecent = 16384;  // 256 KiB, of which the common words stay in the second cache
  static constexpr uint64_t kDropped = 0;   // a stop word, or marks alone
  struct Recent {
    uint64_t raw = 0, key = 0;  // raw: at first of no word that comes to this slot
  };
  uint64_t key_of(std::string_view word);
  TokenOptions options_;
  std::vector<Recent> recent_;
  std::string form_;
};

}  // namespace quern::recall
