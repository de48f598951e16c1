#include "quern/text/unicode/unicode.h"

#include <utf8proc.h>

#include <cstdlib>

#include "quern/base/error.h"
#include "quern/text/unicode/assigned.h"
#include "quern/text/unicode/utf8.h"

namespace quern::text {
namespace {

utf8proc_category_t category(char32_t cp) { return utf8proc_category(static_cast<utf8proc_int32_t>(cp)); }
bool is_mark(utf8proc_category_t c) {
  return c == UTF8PROC_CATEGORY_MN || c == UTF8PROC_CATEGORY_MC || c == UTF8PROC_CATEGORY_ME;
}

// Characters that NFC leaves alone and that neither combine nor compose with a neighbor of this same set.
bool plainly_nfc(char32_t c) {
  return c < 0x300 || (c >= 0x400 && c < 0x483) || (c >= 0x2010 && c < 0x2028) || (c >= 0x3001 && c < 0x302A) ||
         (c >= 0x3041 && c < 0x3097) || (c >= 0x4E00 && c < 0xA000) || (c >= 0xAC00 && c < 0xD7A4) ||
         (c >= 0xFF01 && c < 0xFF5F) || (c >= 0x1F300 && c < 0x1FB00);
}

void map_run(std::string_view run, NormalForm form, std::string& out) {
  int options = UTF8PROC_STABLE;
  options |= form == NormalForm::nfc || form == NormalForm::nfkc ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE;
  if (form == NormalForm::nfkc || form == NormalForm::nfkd) options |= UTF8PROC_COMPAT;
  utf8proc_uint8_t* result = nullptr;
  utf8proc_ssize_t n =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(run.data()), static_cast<utf8proc_ssize_t>(run.size()),
                   &result, static_cast<utf8proc_option_t>(options));
  if (n < 0) fail("Unicode normalization: {}", utf8proc_errmsg(n));
  out.append(reinterpret_cast<const char*>(result), static_cast<size_t>(n));
  std::free(result);
}

template <class F>
void transform(std::string& text, F f) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    Utf8Char c = utf8_at(text, i);
    f(out, c.cp);
    i += c.len;
  }
  text = std::move(out);
}

}  // namespace

void unicode_normalize(std::string& text, NormalForm form) {
  if (ascii_run(text, 0) == text.size()) return;
  std::string out;
  size_t done = 0, i = 0;
  bool changed = false;
  // Runs: the last ASCII character (a mark may compose with it) and the non-ASCII ones after it.
  while (i < text.size()) {
    i += ascii_run(text, i);
    if (i >= text.size()) break;
    size_t begin = i > done ? i - 1 : i;
    bool plain = form == NormalForm::nfc;
    while (i < text.size() && static_cast<unsigned char>(text[i]) >= 0x80) {
      Utf8Char c = utf8_at(text, i);
      plain = plain && plainly_nfc(c.cp);
      i += c.len;
    }
    if (plain) continue;
    if (!changed) out.reserve(text.size() + text.size() / 8);
    changed = true;
    out.append(text, done, begin - done);
    map_run(std::string_view(text).substr(begin, i - begin), form, out);
    done = i;
  }
  if (!changed) return;
  out.append(text, done);
  text = std::move(out);
}

char32_t unicode_lower(char32_t cp) {
  return static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(cp)));
}
char32_t unicode_upper(char32_t cp) {
  return static_cast<char32_t>(utf8proc_toupper(static_cast<utf8proc_int32_t>(cp)));
}
char32_t unicode_title(char32_t cp) {
  return static_cast<char32_t>(utf8proc_totitle(static_cast<utf8proc_int32_t>(cp)));
}

void unicode_lowercase(std::string& text) {
  transform(text, [](std::string& out, char32_t c) {
    // U+0130 is the one character whose lower case is two.
    if (c == 0x130) {
      out += "i\xCC\x87";
    } else {
      utf8_append(out, unicode_lower(c));
    }
  });
}

void unicode_uppercase(std::string& text) {
  transform(text, [](std::string& out, char32_t c) {
    if (c == 0xDF) {
      out += "SS";
    } else {
      utf8_append(out, unicode_upper(c));
    }
  });
}

void unicode_strip_accents(std::string& text) {
  transform(text, [](std::string& out, char32_t c) {
    if (!is_mark(category(c))) utf8_append(out, c);
  });
}

bool unicode_is_space(char32_t c) {
  return (c >= 9 && c <= 13) || c == ' ' || c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) ||
         c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}
bool unicode_is_assigned(char32_t cp) {
  const auto c = category(cp);
  return c != UTF8PROC_CATEGORY_CN && c != UTF8PROC_CATEGORY_CS;
}
bool unicode_is_digit(char32_t cp) { return category(cp) == UTF8PROC_CATEGORY_ND; }
bool unicode_is_number(char32_t cp) {
  auto c = category(cp);
  return c >= UTF8PROC_CATEGORY_ND && c <= UTF8PROC_CATEGORY_NO;
}
bool unicode_is_letter(char32_t cp) {
  auto c = category(cp);
  return c >= UTF8PROC_CATEGORY_LU && c <= UTF8PROC_CATEGORY_LO;
}
bool unicode_is_cased(char32_t cp) {
  auto c = category(cp);
  return c >= UTF8PROC_CATEGORY_LU && c <= UTF8PROC_CATEGORY_LT;
}
bool unicode_is_punct(char32_t cp) {
  if (cp < 0x80) return cp > 0x20 && cp < 0x7F && !unicode_is_letter(cp) && !unicode_is_digit(cp);
  auto c = category(cp);
  return c >= UTF8PROC_CATEGORY_PC && c <= UTF8PROC_CATEGORY_PO;
}
bool unicode_is_nonspacing(char32_t cp) { return category(cp) == UTF8PROC_CATEGORY_MN; }
bool unicode_is_other(char32_t cp) {
  auto c = category(cp);
  return c == UTF8PROC_CATEGORY_CC || c == UTF8PROC_CATEGORY_CF || c == UTF8PROC_CATEGORY_CO;
}

size_t unicode_grapheme_end(std::string_view text, size_t from) {
  Utf8Char last = utf8_at(text, from);
  utf8proc_int32_t state = 0;
  size_t at = from + last.len;
  for (; at < text.size(); at += last.len) {
    const Utf8Char next = utf8_at(text, at);
    if (utf8proc_grapheme_break_stateful(static_cast<utf8proc_int32_t>(last.cp),
                                         static_cast<utf8proc_int32_t>(next.cp), &state))
      break;
    last = next;
  }
  return at;
}

bool unicode_is_word(char32_t cp) {
  auto c = category(cp);
  if ((c >= UTF8PROC_CATEGORY_LU && c <= UTF8PROC_CATEGORY_LO) || is_mark(c)) return true;
  if (c == UTF8PROC_CATEGORY_ND || c == UTF8PROC_CATEGORY_NL || c == UTF8PROC_CATEGORY_PC) return true;
  // Join controls, and the enclosed letters: alphabetic though their category is So.
  return cp == 0x200C || cp == 0x200D || (cp >= 0x24B6 && cp <= 0x24E9) || (cp >= 0x1F130 && cp <= 0x1F149) ||
         (cp >= 0x1F150 && cp <= 0x1F169) || (cp >= 0x1F170 && cp <= 0x1F189);
}

}  // namespace quern::text
