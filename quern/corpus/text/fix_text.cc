#include "quern/corpus/text/fix_text.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <optional>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "quern/corpus/text/mojibake.h"
#include "quern/text/html/entities.h"
#include "quern/text/unicode/unicode.h"
#include "quern/text/unicode/utf8.h"

namespace quern::corpus {
namespace {

constexpr char32_t kUnknown = 0xffffffff, kNothing = 0xfffffffe;

char32_t numbered(std::string_view digits) {
  const std::optional<uint32_t> number = text::reference_number(digits);
  if (!number) return kUnknown;
  const uint32_t v = *number;
  if (v == 0 || (v >= 0xD800 && v < 0xE000) || v > 0x10FFFF) return 0xFFFD;
  if (v == 0x0D) return '\r';
  if (v >= 0x80 && v <= 0x9F) return text::windows1252(static_cast<unsigned char>(v));
  const bool control = v < 0x09 || v == 0x0B || (v >= 0x0E && v <= 0x1F) || (v >= 0x7F && v < 0xA0);
  const bool none = (v >= 0xFDD0 && v <= 0xFDEF) || (v & 0xFFFE) == 0xFFFE;
  return control || none ? kNothing : static_cast<char32_t>(v);
}

// At '&': the character and the length of the entity, or kUnknown.
char32_t entity(std::string_view s, size_t& length) {
  const text::CharacterReference r = text::read_reference(s, 0);
  if (r.bytes == 0) return kUnknown;
  length = r.bytes;
  if (r.number) return numbered(r.name);
  const char32_t c = text::named_character(r.name);
  return c == 0 ? kUnknown : c;
}

const char* ligature(char32_t c) {
  switch (c) {
    case 0x132:
      return "IJ";
    case 0x133:
      return "ij";
    case 0x149:
      return "\xCA\xBCn";
    case 0x1F1:
      return "DZ";
    case 0x1F2:
      return "Dz";
    case 0x1F3:
      return "dz";
    case 0x1C4:
      return "D\xC5\xBD";
    case 0x1C5:
      return "D\xC5\xBE";
    case 0x1C6:
      return "d\xC5\xBE";
    case 0x1C7:
      return "LJ";
    case 0x1C8:
      return "Lj";
    case 0x1C9:
      return "lj";
    case 0x1CA:
      return "NJ";
    case 0x1CB:
      return "Nj";
    case 0x1CC:
      return "nj";
    case 0xFB00:
      return "ff";
    case 0xFB01:
      return "fi";
    case 0xFB02:
      return "fl";
    case 0xFB03:
      return "ffi";
    case 0xFB04:
      return "ffl";
    case 0xFB05:
      return "\xC5\xBFt";
    case 0xFB06:
      return "st";
    default:
      return nullptr;
  }
}

bool removed_control(char32_t c) {
  return c < 0x09 || c == 0x0B || (c >= 0x0E && c <= 0x1F) || c == 0x7F || (c >= 0x206A && c <= 0x206F) ||
         c == 0xFEFF || (c >= 0xFFF9 && c <= 0xFFFC);
}

// One character behind the entities: C1 controls as Windows-1252 has them, ligatures, width, quotes, line breaks.
void put(std::string& out, char32_t c) {
  if (c >= 0x80 && c < 0xA0) c = text::windows1252(static_cast<unsigned char>(c));
  if (c < 0x80) {
    out += static_cast<char>(c);
    return;
  }
  if (const char* l = ligature(c)) {
    out += l;
    return;
  }
  if (c == 0x2BC || (c >= 0x2018 && c <= 0x201B)) {
    out += '\'';
  } else if (c >= 0x201C && c <= 0x201F) {
    out += '"';
  } else if (c == 0x2028 || c == 0x2029) {
    out += '\n';
  } else if (c == 0x3000 || (c >= 0xFF01 && c <= 0xFFEF)) {
    std::string one;
    text::utf8_append(one, c);
    text::unicode_normalize(one, text::NormalForm::nfkc);
    out += one;
  } else {
    text::utf8_append(out, c);
  }
}

// "\x1b[" digits and semicolons, then a letter: its length, or 0.
size_t terminal_escape(std::string_view s) {
  if (s.size() < 3 || s[0] != '\x1b' || s[1] != '[') return 0;
  size_t n = 2;
  while (n < s.size() && ((s[n] >= '0' && s[n] <= '9') || s[n] == ';')) ++n;
  return n < s.size() && ((s[n] | 32) >= 'a' && (s[n] | 32) <= 'z') ? n + 1 : 0;
}

void strip_controls(std::string& text) {
  std::string out;
  out.reserve(text.size());
  const std::string_view s = text;
  for (size_t i = 0; i < s.size();) {
    if (const size_t n = s[i] == '\x1b' ? terminal_escape(s.substr(i)) : 0) {
      i += n;
      continue;
    }
    const text::Utf8Char c = text::utf8_at(s, i);
    if (!removed_control(c.cp)) out.append(s, i, c.len);
    i += c.len;
  }
  text = std::move(out);
}

bool has_controls(std::string_view ascii) {
  unsigned char any = 0;
  for (const char c : ascii) {  // no way out inside: the compiler makes vectors of it
    const auto b = static_cast<unsigned char>(c);
    any |= static_cast<unsigned char>(((b < 0x20) & (b != '\t') & (b != '\n') & (b != '\f') & (b != '\r')) |
                                      (b == 0x7F));
  }
  return any;
}

struct LineBuffers {
  std::string fixed, repaired;
};

// What fix_line does to single characters. False: the line has units of mojibake (mojibake.h), and nothing was done.
bool fix_characters(std::string_view line, bool entities, bool units_stay, std::string& s, bool& controls) {
  s.clear();
  controls = false;
  bool units = false;
  const uint8_t* endings = mojibake_endings();
  for (size_t i = 0; i < line.size();) {
    if (static_cast<unsigned char>(line[i]) < 0x80 && (line[i] != '&' || !entities)) {
      units |= space_in_unit(line, i);
      std::string_view run = line.substr(i, text::ascii_run(line, i));
      if (entities) run = run.substr(0, run.find('&'));
      controls = controls || has_controls(run);
      s += run;
      i += run.size();
      continue;
    }
    size_t n = 0;
    char32_t c = line[i] == '&' ? entity(line.substr(i), n) : kUnknown;
    if (c == kUnknown) {
      const text::Utf8Char own = text::utf8_at(line, i);
      c = own.cp, n = own.len;
      units |= units_ending(line, i, c, endings) != 0;
    }
    controls = controls || removed_control(c);
    if (c != kNothing) put(s, c);
    i += n;
  }
  return units_stay || !units;
}

void fix_line(std::string_view line, bool entities, LineBuffers& b, std::string& out) {
  std::string& s = b.fixed;
  bool controls = false;
  if (!fix_characters(line, entities, false, s, controls)) {
    if (repair_mojibake(line, b.repaired)) line = b.repaired;
    fix_characters(line, entities, true, s, controls);
  }
  for (size_t at = 0; (at = s.find('\r', at)) != s.npos;)
    s.replace(at, at + 1 < s.size() && s[at + 1] == '\n' ? 2 : 1, "\n");
  if (controls) strip_controls(s);
  text::unicode_normalize(s, text::NormalForm::nfc);
  out += s;
}

}  // namespace

size_t find_to_fix(std::string_view s, size_t from) {
  const auto calls = [](unsigned char b) {
    return (b >= 0x7F) | (b == '&') | ((b < 0x20) & (b != '\t') & (b != '\n') & (b != '\f') & (b != '\r'));
  };
  size_t i = from;
#if defined(__SSE2__)
  for (; i + 16 <= s.size(); i += 16) {
    const __m128i x = _mm_loadu_si128(reinterpret_cast<const __m128i*>(s.data() + i));
    const auto is = [&](char c) { return _mm_cmpeq_epi8(x, _mm_set1_epi8(c)); };
    const __m128i low = _mm_cmplt_epi8(x, _mm_set1_epi8(0x20));  // as signed: 0x80 and above too
    const __m128i line = _mm_or_si128(_mm_or_si128(is('\n'), is('\t')), _mm_or_si128(is('\r'), is('\f')));
    const __m128i hit = _mm_or_si128(_mm_andnot_si128(line, low), _mm_or_si128(is('&'), is(0x7F)));
    if (const auto mask = static_cast<unsigned>(_mm_movemask_epi8(hit)))
      return i + static_cast<size_t>(std::countr_zero(mask));
  }
#endif
  for (; i < s.size(); ++i)
    if (calls(static_cast<unsigned char>(s[i]))) return i;
  return s.npos;
}

void fix_text(std::string_view text, std::string& out) {
  out.clear();
  out.reserve(text.size() + 16);
  const size_t tag = text.find('<');  // from its line on, & is no entity
  LineBuffers buffer;
  size_t i = 0;
  for (size_t at = find_to_fix(text); at < text.size(); at = find_to_fix(text, i)) {
    const size_t before = text.substr(0, at).rfind('\n'), nl = text.find('\n', at);
    const size_t begin = before == text.npos ? 0 : before + 1, end = nl == text.npos ? text.size() : nl + 1;
    out += text.substr(i, begin - i);
    fix_line(text.substr(begin, end - begin), tag >= end, buffer, out);
    i = end;
  }
  out += text.substr(i);
}

}  // namespace quern::corpus
