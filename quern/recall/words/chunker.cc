#include "quern/recall/words/chunker.h"

#include <algorithm>
#include <array>

#include "quern/base/error.h"
#include "quern/recall/words/tokens.h"

namespace quern::recall {
namespace {

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }

constexpr std::array kAbbreviations = {"mr",  "mrs", "ms", "dr", "prof", "st",  "vs", "etc", "e.g", "i.e", "cf",
                                       "fig", "no",  "jr", "sr", "inc",  "ltd", "co", "vol", "pp",  "al",  "approx"};

// Does the word that ends before s[dot] abbreviate?
bool abbreviates(std::string_view s, size_t dot) {
  size_t begin = dot;
  while (begin > 0 && !is_space(s[begin - 1]) && s[begin - 1] != '(' && s[begin - 1] != '"' && dot - begin < 8)
    --begin;
  const std::string_view word = s.substr(begin, dot - begin);
  if (word.size() == 1 && is_upper(word[0])) return true;  // an initial
  std::string lower(word);
  for (char& c : lower)
    if (is_upper(c)) c = static_cast<char>(c + ('a' - 'A'));
  for (const char* a : kAbbreviations)
    if (lower == a) return true;
  return false;
}

// Bytes of a sentence-ending mark at s[i], or 0: . ! ? and … 。 ！ ？
size_t stop_at(std::string_view s, size_t i) {
  const char c = s[i];
  if (c == '.' || c == '!' || c == '?') return 1;
  const std::string_view three = s.substr(i, 3);
  return three == "…" || three == "。" || three == "！" || three == "？" ? 3 : 0;
}

size_t closer_at(std::string_view s, size_t i) {
  const char c = s[i];
  if (c == '"' || c == '\'' || c == ')' || c == ']') return 1;
  const std::string_view three = s.substr(i, 3);
  if (three == "”" || three == "’" || three == "」") return 3;
  return s.substr(i, 2) == "»" ? 2 : 0;
}

// Cuts [begin, end) where it exceeds max_words, trims, and keeps what is not empty.
class Cutter {
 public:
  Cutter(std::string_view text, int64_t max_words, uint64_t base, std::vector<Chunk>& out)
      : text_(text), max_words_(max_words), base_(base), out_(out) {}
  void keep(size_t begin, size_t end) {
    if (end - begin <= static_cast<size_t>(max_words_)) {  // no more words than bytes
      put(begin, end);
      return;
    }
    int64_t words = 0;
    size_t from = begin, last_word = begin;
    for_each_word(text_.substr(begin, end - begin), [&](size_t b, size_t e) {
      if (++words > max_words_) {
        size_t cut = begin + b;  // what precedes the word without a space, like a bracket, goes with it
        while (cut > last_word && !is_space(text_[cut - 1])) --cut;
        if (cut == last_word) cut = begin + b;
        put(from, cut);
        from = cut, words = 1;
      }
      last_word = begin + e;
    });
    put(from, end);
  }

 private:
  void put(size_t begin, size_t end) {
    while (begin < end && is_space(text_[begin])) ++begin;
    while (end > begin && is_space(text_[end - 1])) --end;
    if (begin < end) out_.push_back({base_ + begin, base_ + end});
  }
  std::string_view text_;
  int64_t max_words_;
  uint64_t base_;
  std::vector<Chunk>& out_;
};

void by_sentence(std::string_view s, Cutter& cutter) {
  static constexpr auto kStops = [] {
    std::array<bool, 256> t{};
    for (unsigned char c : {'.', '!', '?', '\n', '\xE2', '\xE3', '\xEF'}) t[c] = true;
    return t;
  }();
  size_t begin = 0;
  for (size_t i = 0; i < s.size();) {
    if (!kStops[static_cast<unsigned char>(s[i])]) {
      ++i;
      continue;
    }
    if (s[i] == '\n') {  // a blank line ends whatever stood before it
      size_t j = i + 1;
      while (j < s.size() && (s[j] == ' ' || s[j] == '\t' || s[j] == '\r')) ++j;
      if (j < s.size() && s[j] == '\n') cutter.keep(begin, i), begin = i;
      i = j;
      continue;
    }
    size_t len = stop_at(s, i);
    if (len == 0) {
      ++i;
      continue;
    }
    const size_t mark = i;
    const bool wide = len == 3 && static_cast<unsigned char>(s[i]) != 0xE2;  // 。 needs no space behind it
    do i += len;
    while (i < s.size() && (len = stop_at(s, i)) > 0);
    while (i < s.size() && (len = closer_at(s, i)) > 0) i += len;
    if (i < s.size() && !is_space(s[i]) && !wide) continue;
    if (s[mark] == '.' && i == mark + 1) {
      size_t next = i;
      while (next < s.size() && is_space(s[next])) ++next;
      if (next < s.size() && (is_lower(s[next]) || abbreviates(s, mark))) continue;
    }
    cutter.keep(begin, i);
    begin = i;
  }
  cutter.keep(begin, s.size());
}

void by_line(std::string_view s, Cutter& cutter) {
  for (size_t begin = 0; begin < s.size();) {
    const size_t end = std::min(s.find('\n', begin), s.size());
    cutter.keep(begin, end);
    begin = end + 1;
  }
}

void by_paragraph(std::string_view s, Cutter& cutter) {
  size_t from = 0;
  bool blank = false;
  for (size_t begin = 0; begin < s.size();) {
    const size_t end = std::min(s.find('\n', begin), s.size());
    size_t first = begin;
    while (first < end && is_space(s[first])) ++first;
    if (first == end) {
      blank = true;
    } else {
      const bool closes = s[begin] == '}' || s[begin] == ')' || s[begin] == ']';
      if (blank && first == begin && !closes) cutter.keep(from, begin), from = begin;
      blank = false;
    }
    begin = end + 1;
  }
  cutter.keep(from, s.size());
}

}  // namespace

void append_chunks(std::string_view text, const ChunkOptions& options, uint64_t base, std::vector<Chunk>& out) {
  if (options.max_words < 1) fail("chunks: max_words = {}, expected 1 or more", options.max_words);
  Cutter cutter(text, options.max_words, base, out);
  switch (options.unit) {
    case ChunkUnit::sentence:
      return by_sentence(text, cutter);
    case ChunkUnit::line:
      return by_line(text, cutter);
    case ChunkUnit::words:
      return cutter.keep(0, text.size());
    case ChunkUnit::code:
      return by_paragraph(text, cutter);
  }
}

std::vector<Chunk> chunk_text(std::string_view text, const ChunkOptions& options) {
  std::vector<Chunk> out;
  append_chunks(text, options, 0, out);
  return out;
}

std::string_view name_of(ChunkUnit unit) {
  constexpr std::string_view names[] = {"sentence", "line", "words", "code"};
  return names[static_cast<size_t>(unit)];
}

ChunkUnit chunk_unit(std::string_view name) {
  for (ChunkUnit u : {ChunkUnit::sentence, ChunkUnit::line, ChunkUnit::words, ChunkUnit::code})
    if (name == name_of(u)) return u;
  fail("chunk unit '{}', expected sentence, line, words or code", name);
}

}  // namespace quern::recall
