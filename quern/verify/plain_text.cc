#include "quern/verify/plain_text.h"

#include "quern/text/unicode/unicode.h"
#include "quern/text/unicode/utf8.h"
#include "quern/verify/expectation.h"

namespace quern::verify {

PlainTextOptions plain_text_options(const Json& e) {
  PlainTextOptions o;
  if (word_field(e, "case", {"ignore", "keep"}) == "keep") o.letter_case = Letters::kept;
  const std::string space = word_field(e, "space", {"collapse", "remove", "keep"});
  o.space = space == "remove" ? Space::removed : space == "keep" ? Space::kept : Space::collapsed;
  if (word_field(e, "punctuation", {"keep", "ignore"}) == "ignore") o.punctuation = Punctuation::ignored;
  return o;
}

std::string plain_text(std::string_view text, const PlainTextOptions& o) {
  std::string s = text::utf8_lossy(text), out;
  text::unicode_normalize(s, text::NormalForm::nfc);
  if (o.letter_case == Letters::ignored) text::unicode_lowercase(s);
  for (size_t i = 0; i < s.size();) {
    const auto [cp, len] = text::utf8_at(s, i);
    const std::string_view c = std::string_view(s).substr(i, len);
    i += len;
    if (o.punctuation == Punctuation::ignored && text::unicode_is_punct(cp)) continue;
    if (cp == 0x2018 || cp == 0x2019)  // typographic apostrophes
      out += '\'';
    else if (!text::unicode_is_space(cp) || o.space == Space::kept)
      out += c;
    else if (o.space == Space::collapsed && !out.empty() && out.back() != ' ')
      out += ' ';
  }
  if (o.space == Space::collapsed && out.ends_with(' ')) out.pop_back();
  return out;
}

}  // namespace quern::verify
