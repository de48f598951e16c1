#include "quern/recall/words/tokens.h"

#include <algorithm>
#include <cstring>

#include "quern/base/error.h"
#include "quern/recall/words/snowball.h"
#include "quern/text/unicode/unicode.h"
#include "quern/text/unicode/utf8.h"

namespace quern::recall {
namespace {

// Scripts written without spaces between words.
bool stands_alone(char32_t c) {
  return (c >= 0x0E00 && c < 0x0F00) || (c >= 0x1000 && c < 0x10A0) || (c >= 0x1780 && c < 0x1800) ||
         (c >= 0x3040 && c < 0x3100) || (c >= 0x31F0 && c < 0x3200) || (c >= 0x3400 && c < 0x4DC0) ||
         (c >= 0x4E00 && c < 0xA000) || (c >= 0xF900 && c < 0xFB00) || (c >= 0x20000 && c < 0x32000);
}

void strip_marks(std::string& form) {
  text::unicode_normalize(form, text::NormalForm::nfkd);
  text::unicode_strip_accents(form);
  text::unicode_normalize(form, text::NormalForm::nfkc);
}

bool drops(std::string_view form, const TokenOptions& options) {
  return options.drop_stopwords && options.language == kEnglish && is_stopword(form);
}

// From a word in lower case, its marks in place where the language is not English, to its normal form.
void stem(std::string& form, const TokenOptions& options) {
  if (options.language == kEnglish) return porter_stem(form);
  snowball_stem(form, options.language);
  if (text::ascii_run(form, 0) != form.size()) strip_marks(form);
}

}  // namespace

std::vector<std::string> stem_languages() {
  std::vector<std::string> all = snowball_languages();
  all.insert(std::upper_bound(all.begin(), all.end(), kEnglish), std::string(kEnglish));
  return all;
}

void check_language(std::string_view language) {
  const std::vector<std::string> all = stem_languages();
  if (std::find(all.begin(), all.end(), language) == all.end())
    fail("no stems are known for the language '{}'; expected {}", language, fmt::join(all, ", "));
}

CharStep step_beyond_ascii(std::string_view text, size_t i) {
  const text::Utf8Step s = text::utf8_step(text, i);
  if (!s.ok) return {s.len, CharKind::separator};
  const char32_t c = text::utf8_at(text, i).cp;
  if (!text::unicode_is_word(c)) return {s.len, CharKind::separator};
  return {s.len, stands_alone(c) ? CharKind::single : CharKind::word};
}

void normal_form(std::string_view word, const TokenOptions& options, std::string& form) {
  form.assign(word);
  const bool accents_tell = options.stem && options.language != kEnglish;  // "majorité" is "major", "majorite" is not
  if (text::ascii_run(form, 0) == form.size()) {
    for (char& c : form)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
  } else {
    text::unicode_normalize(form, accents_tell ? text::NormalForm::nfkc : text::NormalForm::nfkd);
    text::unicode_lowercase(form);
    if (!accents_tell) strip_marks(form);
  }
  if (drops(form, options)) form.clear();
  if (options.stem) stem(form, options);
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

WordKeys::WordKeys(const TokenOptions& options) : options_(options), recent_(kRecent) {
  if (options.stem) check_language(options.language);
  recent_[0].raw = 1;
}

uint64_t WordKeys::key_of(std::string_view word) {
  // Short ASCII words in lower case, eight letters at a time.
  constexpr size_t kShort = 64;
  constexpr uint64_t kOnes = 0x0101010101010101ull, kHigh = 0x80 * kOnes;
  if (word.size() <= kShort) {
    uint64_t letters[kShort / 8] = {}, beyond = 0;
    std::memcpy(letters, word.data(), word.size());
    for (size_t i = 0; i < (word.size() + 7) / 8; ++i) {
      const uint64_t w = letters[i], from_a = w + (0x80 - 'A') * kOnes, past_z = w + (0x7f - 'Z') * kOnes;
      beyond |= w;
      letters[i] = w | ((from_a & ~past_z & kHigh) >> 2);  // right where no byte is above 0x7f
    }
    if ((beyond & kHigh) == 0) {
      const std::string_view lower(reinterpret_cast<const char*>(letters), word.size());
      if (drops(lower, options_)) return kDropped;
      if (!options_.stem) return word_key(lower);
      form_.assign(lower);
      stem(form_, options_);
      return form_.empty() ? kDropped : word_key(form_);
    }
  }
  normal_form(word, options_, form_);
  return form_.empty() ? kDropped : word_key(form_);
}

}  // namespace quern::recall
