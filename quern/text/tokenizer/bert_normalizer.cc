#include "quern/text/tokenizer/bert_normalizer.h"

#include "quern/text/tokenizer/component.h"
#include "quern/text/unicode/unicode.h"
#include "quern/text/unicode/utf8.h"

namespace quern::text {
namespace {

// The ideographs that BERT's vocabularies hold one by one. Extension E begins at U+2B920 in the reference, not U+2B820.
bool is_han(char32_t c) {
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) || (c >= 0x20000 && c <= 0x2A6DF) ||
         (c >= 0x2A700 && c <= 0x2B73F) || (c >= 0x2B740 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) ||
         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

void clean_and_part(std::string& text, const BertNormalizer& n) {
  std::string out;
  out.reserve(text.size() + text.size() / 8);
  for (size_t i = 0; i < text.size();) {
    const Utf8Char c = utf8_at(text, i);
    i += c.len;
    const bool blank = c.cp == '\t' || c.cp == '\n' || c.cp == '\r';
    if (n.clean && (c.cp == 0 || c.cp == 0xFFFD || (!blank && unicode8_is_other(c.cp)))) continue;
    if (n.clean && (blank || unicode_is_space(c.cp))) {
      out += ' ';
    } else if (n.han && is_han(c.cp)) {
      out += ' ';
      utf8_append(out, c.cp);
      out += ' ';
    } else {
      utf8_append(out, c.cp);
    }
  }
  text = std::move(out);
}

void strip_nonspacing(std::string& text) {
  unicode_normalize(text, NormalForm::nfd);
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const Utf8Char c = utf8_at(text, i);
    i += c.len;
    if (c.cp < 0x80 || !unicode8_is_nonspacing(c.cp)) utf8_append(out, c.cp);
  }
  text = std::move(out);
}

}  // namespace

BertNormalizer BertNormalizer::from_json(const Json& j) {
  BertNormalizer n;
  n.clean = field_bool(j, "clean_text", true);
  n.han = field_bool(j, "handle_chinese_chars", true);
  n.lowercase = field_bool(j, "lowercase", true);
  n.accents = field_bool(j, "strip_accents", n.lowercase);  // null: as the case is treated
  return n;
}

void BertNormalizer::apply(std::string& text) const {
  if (clean || han) clean_and_part(text, *this);
  if (accents && ascii_run(text, 0) != text.size()) strip_nonspacing(text);
  if (lowercase) unicode_lowercase(text);
}

}  // namespace quern::text
