#include "quern/corpus/text/fix_text.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "quern/text/unicode/unicode.h"
#include "quern/text/unicode/utf8.h"

namespace quern::corpus {
namespace {

constexpr std::array<const char*, 96> kLatin1 = {
    "nbsp",   "iexcl",  "cent",   "pound",  "curren", "yen",    "brvbar", "sect",   "uml",    "copy",   "ordf",
    "laquo",  "not",    "shy",    "reg",    "macr",   "deg",    "plusmn", "sup2",   "sup3",   "acute",  "micro",
    "para",   "middot", "cedil",  "sup1",   "ordm",   "raquo",  "frac14", "frac12", "frac34", "iquest", "Agrave",
    "Aacute", "Acirc",  "Atilde", "Auml",   "Aring",  "AElig",  "Ccedil", "Egrave", "Eacute", "Ecirc",  "Euml",
    "Igrave", "Iacute", "Icirc",  "Iuml",   "ETH",    "Ntilde", "Ograve", "Oacute", "Ocirc",  "Otilde", "Ouml",
    "times",  "Oslash", "Ugrave", "Uacute", "Ucirc",  "Uuml",   "Yacute", "THORN",  "szlig",  "agrave", "aacute",
    "acirc",  "atilde", "auml",   "aring",  "aelig",  "ccedil", "egrave", "eacute", "ecirc",  "euml",   "igrave",
    "iacute", "icirc",  "iuml",   "eth",    "ntilde", "ograve", "oacute", "ocirc",  "otilde", "ouml",   "divide",
    "oslash", "ugrave", "uacute", "ucirc",  "uuml",   "yacute", "thorn",  "yuml"};

struct NamedChar {
  const char* name;
  char32_t cp;
};
constexpr NamedChar kNamed[] = {
    {"amp", '&'},       {"lt", '<'},        {"gt", '>'},        {"quot", '"'},      {"apos", '\''},
    {"AMP", '&'},       {"LT", '<'},        {"GT", '>'},        {"QUOT", '"'},      {"hellip", 0x2026},
    {"mdash", 0x2014},  {"ndash", 0x2013},  {"lsquo", 0x2018},  {"rsquo", 0x2019},  {"sbquo", 0x201A},
    {"ldquo", 0x201C},  {"rdquo", 0x201D},  {"bdquo", 0x201E},  {"bull", 0x2022},   {"trade", 0x2122},
    {"euro", 0x20AC},   {"dagger", 0x2020}, {"Dagger", 0x2021}, {"permil", 0x2030}, {"prime", 0x2032},
    {"Prime", 0x2033},  {"lsaquo", 0x2039}, {"rsaquo", 0x203A}, {"OElig", 0x152},   {"oelig", 0x153},
    {"Scaron", 0x160},  {"scaron", 0x161},  {"larr", 0x2190},   {"uarr", 0x2191},   {"rarr", 0x2192},
    {"darr", 0x2193},   {"le", 0x2264},     {"ge", 0x2265},     {"ne", 0x2260},     {"infin", 0x221E},
    {"alpha", 0x3B1},   {"beta", 0x3B2},    {"gamma", 0x3B3},   {"delta", 0x3B4},   {"lambda", 0x3BB},
    {"mu", 0x3BC},      {"pi", 0x3C0},      {"sigma", 0x3C3},   {"zwj", 0x200D},    {"zwnj", 0x200C},
    {"thinsp", 0x2009}, {"ensp", 0x2002},   {"emsp", 0x2003},   {"minus", 0x2212},  {"check", 0x2713},
};

// What HTML's standard makes of the numbers 0x80–0x9F: the characters of Windows-1252.
constexpr char32_t kC1[32] = {0x20AC, 0x81,   0x201A, 0x192,  0x201E, 0x2026, 0x2020, 0x2021, 0x2C6,  0x2030, 0x160,
                              0x2039, 0x152,  0x8D,   0x17D,  0x8F,   0x90,   0x2018, 0x2019, 0x201C, 0x201D, 0x2022,
                              0x2013, 0x2014, 0x2DC,  0x2122, 0x161,  0x203A, 0x153,  0x9D,   0x17E,  0x178};

bool alnum(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

constexpr char32_t kUnknown = 0xffffffff, kNothing = 0xfffffffe;

char32_t numbered(std::string_view digits) {
  uint32_t base = 10, v = 0;
  if (!digits.empty() && (digits[0] == 'x' || digits[0] == 'X')) base = 16, digits.remove_prefix(1);
  if (digits.empty()) return kUnknown;
  for (char c : digits) {
    const uint32_t d = c <= '9' ? static_cast<uint32_t>(c - '0') : static_cast<uint32_t>((c | 32) - 'a' + 10);
    if (d >= base) return kUnknown;
    v = std::min<uint32_t>(v * base + d, 0x110000);
  }
  if (v == 0 || (v >= 0xD800 && v < 0xE000) || v > 0x10FFFF) return 0xFFFD;
  if (v == 0x0D) return '\r';
  if (v >= 0x80 && v <= 0x9F) return kC1[v - 0x80];
  const bool control = v < 0x09 || v == 0x0B || (v >= 0x0E && v <= 0x1F) || (v >= 0x7F && v < 0xA0);
  const bool none = (v >= 0xFDD0 && v <= 0xFDEF) || (v & 0xFFFE) == 0xFFFE;
  return control || none ? kNothing : static_cast<char32_t>(v);
}

// At '&': the character and the length of the entity, or kUnknown.
char32_t entity(std::string_view s, size_t& length) {
  size_t n = 1;
  const bool number = n < s.size() && s[n] == '#';
  if (number) ++n;
  const size_t begin = n;
  while (n < s.size() && n - begin < 24 && alnum(s[n])) ++n;
  if (n == begin || n == s.size() || s[n] != ';') return kUnknown;
  length = n + 1;
  const std::string_view name = s.substr(begin, n - begin);
  if (number) return numbered(name);
  for (size_t i = 0; i < kLatin1.size(); ++i)
    if (name == kLatin1[i]) return static_cast<char32_t>(0xA0 + i);
  for (const NamedChar& c : kNamed)
    if (name == c.name) return c.cp;
  return kUnknown;
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

// One character behind the entities: ligatures, width, quotes, line breaks.
void put(std::string& out, char32_t c) {
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
  } else if (c == 0x85 || c == 0x2028 || c == 0x2029) {
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

// s: a buffer.
void fix_line(std::string_view line, bool entities, std::string& s, std::string& out) {
  s.clear();
  bool controls = false;
  for (size_t i = 0; i < line.size();) {
    if (static_cast<unsigned char>(line[i]) < 0x80 && (line[i] != '&' || !entities)) {
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
    }
    controls = controls || removed_control(c);
    if (c != kNothing) put(s, c);
    i += n;
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
  std::string buffer;
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
