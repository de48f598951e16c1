#include "quern/recall/tokens.h"

#include <algorithm>

#include "quern/text/unicode.h"
#include "quern/text/utf8.h"

namespace quern {
namespace {

// Scripts written without spaces between words.
bool stands_alone(char32_t c) {
  return (c >= 0x0E00 && c < 0x0F00) || (c >= 0x1000 && c < 0x10A0) || (c >= 0x1780 && c < 0x1800) ||
         (c >= 0x3040 && c < 0x3100) || (c >= 0x31F0 && c < 0x3200) || (c >= 0x3400 && c < 0x4DC0) ||
         (c >= 0x4E00 && c < 0xA000) || (c >= 0xF900 && c < 0xFB00) || (c >= 0x20000 && c < 0x32000);
}

constexpr std::string_view kStopwords[] = {
    "a",     "about",   "after", "again", "all",   "am",      "an",    "and",  "any",   "are",   "as",     "at",
    "be",    "because", "been",  "being", "both",  "but",     "by",    "can",  "could", "d",     "did",    "do",
    "does",  "doing",   "don",   "each",  "few",   "for",     "from",  "had",  "has",   "have",  "having", "he",
    "her",   "here",    "hers",  "him",   "his",   "how",     "i",     "if",   "in",    "into",  "is",     "it",
    "its",   "just",    "ll",    "m",     "me",    "more",    "most",  "my",   "no",    "nor",   "not",    "now",
    "of",    "on",      "only",  "or",    "other", "our",     "ours",  "out",  "own",   "re",    "s",      "same",
    "she",   "should",  "so",    "some",  "such",  "t",       "than",  "that", "the",   "their", "them",   "then",
    "there", "these",   "they",  "this",  "those", "through", "to",    "too",  "us",    "ve",    "very",   "was",
    "we",    "were",    "what",  "when",  "where", "which",   "while", "who",  "whom",  "why",   "will",   "with",
    "would", "you",     "your",  "yours"};

}  // namespace

CharStep step_beyond_ascii(std::string_view text, size_t i) {
  const Utf8Step s = utf8_step(text, i);
  if (!s.ok) return {s.len, CharKind::separator};
  const char32_t c = utf8_at(text, i).cp;
  if (!unicode_is_word(c)) return {s.len, CharKind::separator};
  return {s.len, stands_alone(c) ? CharKind::single : CharKind::word};
}

bool is_stopword(std::string_view lower) {
  return std::binary_search(std::begin(kStopwords), std::end(kStopwords), lower);
}

void normal_form(std::string_view word, const TokenOptions& options, std::string& form) {
  form.assign(word);
  if (ascii_run(form, 0) == form.size()) {
    for (char& c : form)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
  } else {
    unicode_normalize(form, NormalForm::nfkd);
    unicode_lowercase(form);
    unicode_strip_accents(form);
    unicode_normalize(form, NormalForm::nfkc);
  }
  if (options.drop_stopwords && is_stopword(form)) form.clear();
  if (options.stem) porter_stem(form);
}

std::string normal_form(std::string_view word, const TokenOptions& options) {
  std::string form;
  normal_form(word, options, form);
  return form;
}

std::vector<std::string> words_of(std::string_view text, const TokenOptions& options) {
  std::vector<std::string> out;
  for_each_word(text, [&](size_t begin, size_t end) {
    std::string form = normal_form(text.substr(begin, end - begin), options);
    if (!form.empty()) out.push_back(std::move(form));
  });
  return out;
}

uint64_t WordKeys::key_of(std::string_view word) {
  normal_form(word, options_, form_);
  dropped_ = form_.empty();  // a stop word, or marks alone
  return word_key(form_);
}

}  // namespace quern
