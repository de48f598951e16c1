// Named character references of HTML 4, and numeric ones.
#include <algorithm>
#include <array>

#include "quern/recall/read/document.h"
#include "quern/text/unicode/utf8.h"

namespace quern::recall {
namespace {

// U+00A0 to U+00FF in order.
constexpr std::array<std::string_view, 96> kLatin = {
    "nbsp",   "iexcl",  "cent",   "pound",  "curren", "yen",    "brvbar", "sect",   "uml",    "copy",   "ordf",
    "laquo",  "not",    "shy",    "reg",    "macr",   "deg",    "plusmn", "sup2",   "sup3",   "acute",  "micro",
    "para",   "middot", "cedil",  "sup1",   "ordm",   "raquo",  "frac14", "frac12", "frac34", "iquest", "Agrave",
    "Aacute", "Acirc",  "Atilde", "Auml",   "Aring",  "AElig",  "Ccedil", "Egrave", "Eacute", "Ecirc",  "Euml",
    "Igrave", "Iacute", "Icirc",  "Iuml",   "ETH",    "Ntilde", "Ograve", "Oacute", "Ocirc",  "Otilde", "Ouml",
    "times",  "Oslash", "Ugrave", "Uacute", "Ucirc",  "Uuml",   "Yacute", "THORN",  "szlig",  "agrave", "aacute",
    "acirc",  "atilde", "auml",   "aring",  "aelig",  "ccedil", "egrave", "eacute", "ecirc",  "euml",   "igrave",
    "iacute", "icirc",  "iuml",   "eth",    "ntilde", "ograve", "oacute", "ocirc",  "otilde", "ouml",   "divide",
    "oslash", "ugrave", "uacute", "ucirc",  "uuml",   "yacute", "thorn",  "yuml"};

struct Named {
  std::string_view name;
  char32_t cp;
};
constexpr std::array<Named, 61> kOthers = {{
    {"amp", '&'},       {"lt", '<'},        {"gt", '>'},        {"quot", '"'},      {"apos", '\''},
    {"ndash", 0x2013},  {"mdash", 0x2014},  {"lsquo", 0x2018},  {"rsquo", 0x2019},  {"sbquo", 0x201A},
    {"ldquo", 0x201C},  {"rdquo", 0x201D},  {"bdquo", 0x201E},  {"dagger", 0x2020}, {"Dagger", 0x2021},
    {"bull", 0x2022},   {"hellip", 0x2026}, {"permil", 0x2030}, {"prime", 0x2032},  {"Prime", 0x2033},
    {"lsaquo", 0x2039}, {"rsaquo", 0x203A}, {"euro", 0x20AC},   {"trade", 0x2122},  {"larr", 0x2190},
    {"uarr", 0x2191},   {"rarr", 0x2192},   {"darr", 0x2193},   {"harr", 0x2194},   {"rArr", 0x21D2},
    {"hArr", 0x21D4},   {"forall", 0x2200}, {"part", 0x2202},   {"exist", 0x2203},  {"empty", 0x2205},
    {"isin", 0x2208},   {"notin", 0x2209},  {"sum", 0x2211},    {"minus", 0x2212},  {"infin", 0x221E},
    {"cap", 0x2229},    {"cup", 0x222A},    {"asymp", 0x2248},  {"ne", 0x2260},     {"equiv", 0x2261},
    {"le", 0x2264},     {"ge", 0x2265},     {"sub", 0x2282},    {"sup", 0x2283},    {"alpha", 0x3B1},
    {"beta", 0x3B2},    {"gamma", 0x3B3},   {"delta", 0x3B4},   {"epsilon", 0x3B5}, {"lambda", 0x3BB},
    {"mu", 0x3BC},      {"pi", 0x3C0},      {"sigma", 0x3C3},   {"Delta", 0x394},   {"Sigma", 0x3A3},
    {"Omega", 0x3A9},
}};

char32_t named(std::string_view name) {
  for (const Named& n : kOthers)
    if (n.name == name) return n.cp;
  const auto at = std::find(kLatin.begin(), kLatin.end(), name);
  return at == kLatin.end() ? 0 : static_cast<char32_t>(0xA0 + (at - kLatin.begin()));
}

char32_t numbered(std::string_view digits) {  // behind "#"
  const bool hex = !digits.empty() && (digits[0] == 'x' || digits[0] == 'X');
  if (hex) digits.remove_prefix(1);
  if (digits.empty() || digits.size() > 8) return 0;
  uint64_t n = 0;
  for (const char c : digits) {
    const int v = c >= '0' && c <= '9'          ? c - '0'
                  : hex && c >= 'a' && c <= 'f' ? c - 'a' + 10
                  : hex && c >= 'A' && c <= 'F' ? c - 'A' + 10
                                                : -1;
    if (v < 0) return 0;
    n = n * (hex ? 16 : 10) + static_cast<uint64_t>(v);
  }
  const bool scalar = n < 0xD800 || (n > 0xDFFF && n <= 0x10FFFF);
  return scalar ? static_cast<char32_t>(n) : 0;
}

}  // namespace

size_t append_entity(std::string_view s, size_t i, std::string& out) {
  const size_t end = s.substr(0, std::min(s.size(), i + 12)).find(';', i);
  if (end == s.npos || end == i + 1) return 0;
  const std::string_view name = s.substr(i + 1, end - i - 1);
  const char32_t cp = name[0] == '#' ? numbered(name.substr(1)) : named(name);
  if (cp == 0) return 0;
  if (cp == 0xA0) {
    out += ' ';
  } else if (cp != 0xAD) {  // a soft hyphen is nothing
    text::utf8_append(out, cp);
  }
  return end + 1 - i;
}

}  // namespace quern::recall
