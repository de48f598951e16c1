#include "quern/recall/words/tokens.h"

#include <cstring>

#include "quern/text/unicode/unicode.h"
#include "quern/text/unicode/utf8.h"

namespace quern {
namespace {

// Scripts written without spaces between words.
bool stands_alone(char32_t c) {
  return (c >= 0x0E00 && c < 0x0F00) || (c >= 0x1000 && c < 0x10A0) || (c >= 0x1780 && c < 0x1800) ||
         (c >= 0x3040 && c < 0x3100) || (c >= 0x31F0 && c < 0x3200) || (c >= 0x3400 && c < 0x4DC0) ||
         (c >= 0x4E00 && c < 0xA000) || (c >= 0xF900 && c < 0xFB00) || (c >= 0x20000 && c < 0x32000);
}

}  // namespace

CharStep step_beyond_ascii(std::string_view text, size_t i) {
  const Utf8Step s = utf8_step(text, i);
  if (!s.ok) return {s.len, CharKind::separator};
  const char32_t c = utf8_at(text, i).cp;
  if (!unicode_is_word(c)) return {s.len, CharKind::separator};
  return {s.len, stands_alone(c) ? CharKind::single : CharKind::word};
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
      if (options_.drop_stopwords && is_stopword(lower)) return kDropped;
      if (!options_.stem) return word_key(lower);
      form_.assign(lower);
      porter_stem(form_);
      return word_key(form_);
    }
  }
  normal_form(word, options_, form_);
  return form_.empty() ? kDropped : word_key(form_);
}

}  // namespace quern
