#include "quern/corpus/grades/passage_features.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "quern/corpus/bytes/ascii.h"

namespace quern::corpus {
namespace {

enum WordKind : uint8_t { kFunction = 1, kExplaining = 2, kAddressing = 4 };

// The kinds that a word in lower case has, or 0.
uint8_t word_kinds(std::string_view word) {
  constexpr size_t kLongest = 12;
  static const std::unordered_map<std::string_view, uint8_t> kinds = [] {
    std::unordered_map<std::string_view, uint8_t> all;
    for (const char* w :
         {"the",  "of",     "and",   "to",    "a",    "in",   "is",  "that", "it",    "for",   "as",    "with",
          "on",   "by",     "be",    "are",   "this", "or",   "an",  "from", "at",    "not",   "which", "can",
          "if",   "you",    "when",  "will",  "has",  "have", "was", "were", "but",   "they",  "its",   "all",
          "one",  "more",   "other", "into",  "than", "then", "so",  "such", "there", "these", "those", "may",
          "must", "should", "would", "could", "do",   "does", "we",  "our",  "your",  "i",     "he",    "she",
          "his",  "her",    "them",  "who",   "what", "how",  "why", "where"})
      all[w] |= kFunction;
    for (const char* w :
         {"because", "therefore", "thus",       "hence",     "example",   "examples", "suppose",      "consider",
          "imagine", "means",     "meaning",    "called",    "since",     "however",  "although",     "while",
          "whereas", "first",     "second",     "next",      "finally",   "then",     "instead",      "note",
          "why",     "how",       "understand", "explain",   "explained", "explains", "introduction", "reason",
          "reasons", "usually",   "often",      "typically", "idea",      "concept",  "simple",       "simply",
          "similar", "different", "difference", "allows",    "lets"})
      all[w] |= kExplaining;
    for (const char* w : {"you", "your", "we", "our", "us", "let", "let's", "yourself"}) all[w] |= kAddressing;
    return all;
  }();
  if (word.size() > kLongest) return 0;
  const auto at = kinds.find(word);
  return at == kinds.end() ? 0 : at->second;
}

bool is_space(unsigned char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool is_digit(unsigned char c) { return c >= '0' && c <= '9'; }
bool is_upper(unsigned char c) { return c >= 'A' && c <= 'Z'; }
bool is_lower(unsigned char c) { return c >= 'a' && c <= 'z'; }
bool is_letter(unsigned char c) { return is_upper(c) || is_lower(c) || c >= 0x80; }
bool is_lead(unsigned char c) { return (c & 0xC0) != 0x80; }  // the first byte of a character
bool is_punctuation(unsigned char c) {
  return std::string_view(".,;:'\"-()!?").find(static_cast<char>(c)) != std::string_view::npos;
}

std::string_view bare(std::string_view word) {
  constexpr std::string_view kAround = ".,;:!?()[]{}\"'`";
  const size_t begin = word.find_first_not_of(kAround);
  return begin == word.npos ? "" : word.substr(begin, word.find_last_not_of(kAround) + 1 - begin);
}

// A name of a program: it holds _, ::, (), a capital behind a small letter, or one of < > = / and a backslash.
bool is_identifier(std::string_view word) {
  for (size_t i = 0; i < word.size(); ++i) {
    const char c = word[i], next = i + 1 < word.size() ? word[i + 1] : ' ';
    if (c == '_' || c == '<' || c == '>' || c == '=' || c == '/' || c == '\\') return true;
    if ((c == ':' && next == ':') || (c == '(' && next == ')')) return true;
    if (is_lower(static_cast<unsigned char>(c)) && is_upper(static_cast<unsigned char>(next))) return true;
  }
  return false;
}

struct Counts {
  double words = 0, characters = 0, letters = 0, digits = 0, symbols = 0, letters_of_words = 0;
  double function = 0, explaining = 0, addressing = 0, capitals = 0, long_words = 0, identifiers = 0;
  double sentences = 0, lines = 1, commas = 0, brackets = 0, questions = 0, bars = 0;
};

}  // namespace

void passage_features(std::string_view utf8, std::span<float, kPassageFeatures> out) {
  std::ranges::fill(out, 0.0f);
  Counts n;
  std::vector<size_t> distinct;  // hashes
  std::string lower;
  for (size_t i = 0; i < utf8.size();) {
    const auto c = static_cast<unsigned char>(utf8[i]);
    if (is_space(c)) {
      n.lines += c == '\n', ++i;
      continue;
    }
    size_t end = i;
    for (; end < utf8.size() && !is_space(static_cast<unsigned char>(utf8[end])); ++end) {
      const auto b = static_cast<unsigned char>(utf8[end]);
      const bool letter = is_letter(b);
      n.characters += is_lead(b), n.letters += letter && is_lead(b), n.digits += is_digit(b);
      n.symbols += !letter && !is_digit(b) && !is_punctuation(b);
      n.commas += b == ',', n.brackets += b == '(' || b == '[' || b == '{';
      n.questions += b == '?', n.bars += b == '|';
    }
    const std::string_view word = utf8.substr(i, end - i), inner = bare(word);
    const char last = word.back();
    n.sentences += last == '.' || last == '!' || last == '?';
    n.capitals += is_upper(c), n.identifiers += is_identifier(word);
    const auto length = static_cast<double>(
        std::ranges::count_if(inner, [](char x) { return is_lead(static_cast<unsigned char>(x)); }));
    n.letters_of_words += length, n.long_words += length >= 9;
    lower.assign(inner);
    for (char& x : lower) x = ascii_lower(x);
    const uint8_t kinds = word_kinds(lower);
    n.function += (kinds & kFunction) != 0, n.explaining += (kinds & kExplaining) != 0;
    n.addressing += (kinds & kAddressing) != 0;
    distinct.push_back(std::hash<std::string_view>()(lower));
    ++n.words;
    i = end;
  }
  if (n.words == 0) return;
  std::ranges::sort(distinct);
  const auto kept = std::ranges::unique(distinct).begin() - distinct.begin();
  const double w = n.words, size = std::log1p(w);
  const double values[kPassageFeatures] = {size,
                                           size * size,
                                           n.letters_of_words / w,
                                           n.letters / n.characters,
                                           n.digits / n.characters,
                                           n.symbols / n.characters,
                                           n.function / w,
                                           std::min(w / (n.sentences + 1), 60.0) / 60,
                                           std::log(n.lines / w + 0.01),
                                           n.capitals / w,
                                           n.long_words / w,
                                           static_cast<double>(kept) / w,
                                           n.explaining / w,
                                           n.commas / w,
                                           n.brackets / w,
                                           n.identifiers / w,
                                           n.questions / w,
                                           n.addressing / w,
                                           n.bars / w};
  std::ranges::transform(values, out.begin(), [](double x) { return static_cast<float>(x); });
}

}  // namespace quern::corpus
