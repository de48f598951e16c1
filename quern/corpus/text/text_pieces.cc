#include "quern/corpus/text/text_pieces.h"

#include <algorithm>
#include <iterator>

#include "quern/corpus/text/char_class.h"
#include "quern/text/unicode/utf8.h"

namespace quern::corpus {
namespace {

constexpr std::string_view kEnds[] = {".", "!", "?", "…", "。", "！", "？"};
constexpr std::string_view kClosers[] = {"\"", "'", ")", "]", "”", "’", "»"};

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }
bool is_ascii_punctuation(char c) {
  return (c >= 33 && c <= 47) || (c >= 58 && c <= 64) || (c >= 91 && c <= 96) || (c >= 123 && c <= 126);
}

template <size_t N>
size_t one_of(std::string_view s, size_t at, const std::string_view (&marks)[N]) {  // its length, or 0
  for (std::string_view m : marks)
    if (s.substr(at, m.size()) == m) return m.size();
  return 0;
}

}  // namespace

bool is_space_at(std::string_view s, size_t i, size_t& length) {
  const text::Utf8Char c = text::utf8_at(s, i);
  length = c.len;
  return char_classes()[c.cp] & kSpaceChar;
}

std::string_view trimmed(std::string_view s) {
  size_t begin = 0, n = 0;
  while (begin < s.size() && is_space_at(s, begin, n)) begin += n;
  size_t end = s.size();
  while (end > begin) {
    const text::Utf8Char c = text::utf8_before(s, end);
    if (!(char_classes()[c.cp] & kSpaceChar)) break;
    end -= c.len;
  }
  return s.substr(begin, end - begin);
}

void split_words(std::string_view s, std::vector<std::string_view>& words) {
  words.clear();
  const uint8_t* classes = char_classes();
  size_t begin = 0;
  for (size_t i = 0; i < s.size();) {
    const text::Utf8Char c = text::utf8_at(s, i);
    if (classes[c.cp] & kSpaceChar) {
      if (i > begin) words.push_back(s.substr(begin, i - begin));
      begin = i + c.len;
    }
    i += c.len;
  }
  if (s.size() > begin) words.push_back(s.substr(begin));
}

void split_lines(std::string_view s, std::vector<std::string_view>& lines) {
  lines.clear();
  for (size_t at = 0;;) {
    const size_t end = std::min(s.find('\n', at), s.size());
    lines.push_back(s.substr(at, end - at));
    if (end == s.size()) return;
    at = end + 1;
  }
}

void split_paragraphs(std::string_view s, std::vector<std::string_view>& paragraphs) {
  paragraphs.clear();
  s = trimmed(s);
  for (size_t at = 0;;) {
    const size_t end = std::min(s.find("\n\n", at), s.size());
    paragraphs.push_back(s.substr(at, end - at));
    if (end == s.size()) return;
    at = std::min(s.find_first_not_of('\n', end), s.size());
  }
}

uint64_t count_sentences(std::string_view s) {
  uint64_t n = 0;
  bool rest = false;  // something stands behind the last end
  for (size_t i = 0; i < s.size();) {
    size_t length = 0;
    if (is_space_at(s, i, length)) {
      i += length;
      continue;
    }
    const size_t mark = one_of(s, i, kEnds);
    if (mark == 0) {
      rest = true, i += length;
      continue;
    }
    while (const size_t m = i < s.size() ? one_of(s, i, kEnds) : 0) i += m;
    while (const size_t m = i < s.size() ? one_of(s, i, kClosers) : 0) i += m;
    if (i == s.size() || is_space_at(s, i, length))
      ++n, rest = false;
    else
      rest = true;
  }
  return n + rest;
}

bool ends_like_a_sentence(std::string_view s) {
  constexpr std::string_view kMarks[] = {".", "!", "?", "\"", "'", "…", "。", "！", "？", "”", "’", "»"};
  return std::any_of(std::begin(kMarks), std::end(kMarks), [&](std::string_view m) { return s.ends_with(m); });
}

std::string_view without_punctuation(std::string_view w) {
  while (!w.empty() && is_ascii_punctuation(w.front())) w.remove_prefix(1);
  while (!w.empty() && is_ascii_punctuation(w.back())) w.remove_suffix(1);
  return w;
}

uint64_t count_of(std::string_view s, std::string_view piece) {
  uint64_t n = 0;
  for (size_t at = 0; (at = s.find(piece, at)) != s.npos; at += piece.size()) ++n;
  return n;
}

bool holds_ignoring_case(std::string_view s, std::string_view piece) {
  return std::search(s.begin(), s.end(), piece.begin(), piece.end(), [](char a, char b) { return lower(a) == b; }) !=
         s.end();
}

}  // namespace quern::corpus
