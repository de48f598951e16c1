#include "quern/text/html/entities.h"

#include <algorithm>
#include <array>

#include "quern/text/unicode/utf8.h"

namespace quern::text {
namespace {

struct NamedCharacter {
  std::string_view name;
  char32_t cp;
};
// By name, in the order of bytes.
constexpr NamedCharacter kNamed[] = {
    {"AElig", 0xC6},       {"AMP", 0x26},       {"Aacute", 0xC1},
    {"Abreve", 0x102},     {"Acirc", 0xC2},     {"Agrave", 0xC0},
    {"Alpha", 0x391},      {"Aring", 0xC5},     {"Atilde", 0xC3},
    {"Auml", 0xC4},        {"Beta", 0x392},     {"COPY", 0xA9},
    {"Ccaron", 0x10C},     {"Ccedil", 0xC7},    {"Chi", 0x3A7},
    {"Dagger", 0x2021},    {"Delta", 0x394},    {"Dstrok", 0x110},
    {"ETH", 0xD0},         {"Eacute", 0xC9},    {"Ecirc", 0xCA},
    {"Egrave", 0xC8},      {"Epsilon", 0x395},  {"Eta", 0x397},
    {"Euml", 0xCB},        {"GT", 0x3E},        {"Gamma", 0x393},
    {"Hat", 0x5E},         {"Iacute", 0xCD},    {"Icirc", 0xCE},
    {"Idot", 0x130},       {"Igrave", 0xCC},    {"InvisibleTimes", 0x2062},
    {"Iota", 0x399},       {"Iuml", 0xCF},      {"Kappa", 0x39A},
    {"LT", 0x3C},          {"Lambda", 0x39B},   {"Lstrok", 0x141},
    {"Mu", 0x39C},         {"NewLine", 0xA},    {"NonBreakingSpace", 0xA0},
    {"Ntilde", 0xD1},      {"Nu", 0x39D},       {"OElig", 0x152},
    {"Oacute", 0xD3},      {"Ocirc", 0xD4},     {"Ograve", 0xD2},
    {"Omega", 0x3A9},      {"Omicron", 0x39F},  {"Oslash", 0xD8},
    {"Otilde", 0xD5},      {"Ouml", 0xD6},      {"Phi", 0x3A6},
    {"Pi", 0x3A0},         {"Prime", 0x2033},   {"Psi", 0x3A8},
    {"QUOT", 0x22},        {"REG", 0xAE},       {"Rcaron", 0x158},
    {"Rho", 0x3A1},        {"Sacute", 0x15A},   {"Scaron", 0x160},
    {"Scedil", 0x15E},     {"Sigma", 0x3A3},    {"THORN", 0xDE},
    {"Tab", 0x9},          {"Tau", 0x3A4},      {"Theta", 0x398},
    {"ThinSpace", 0x2009}, {"Uacute", 0xDA},    {"Ucirc", 0xDB},
    {"Ugrave", 0xD9},      {"Upsilon", 0x3A5},  {"Uuml", 0xDC},
    {"Xi", 0x39E},         {"Yacute", 0xDD},    {"Yuml", 0x178},
    {"Zcaron", 0x17D},     {"Zdot", 0x17B},     {"ZeroWidthSpace", 0x200B},
    {"Zeta", 0x396},       {"aacute", 0xE1},    {"abreve", 0x103},
    {"acirc", 0xE2},       {"acute", 0xB4},     {"aelig", 0xE6},
    {"agrave", 0xE0},      {"alefsym", 0x2135}, {"alpha", 0x3B1},
    {"amacr", 0x101},      {"amp", 0x26},       {"and", 0x2227},
    {"ang", 0x2220},       {"aogon", 0x105},    {"apos", 0x27},
    {"aring", 0xE5},       {"ast", 0x2A},       {"asymp", 0x2248},
    {"atilde", 0xE3},      {"auml", 0xE4},      {"bdquo", 0x201E},
    {"beta", 0x3B2},       {"brvbar", 0xA6},    {"bsol", 0x5C},
    {"bull", 0x2022},      {"bullet", 0x2022},  {"cacute", 0x107},
    {"cap", 0x2229},       {"ccaron", 0x10D},   {"ccedil", 0xE7},
    {"cedil", 0xB8},       {"cent", 0xA2},      {"centerdot", 0xB7},
    {"check", 0x2713},     {"chi", 0x3C7},      {"circ", 0x2C6},
    {"clubs", 0x2663},     {"colon", 0x3A},     {"comma", 0x2C},
    {"commat", 0x40},      {"cong", 0x2245},    {"copy", 0xA9},
    {"copysr", 0x2117},    {"crarr", 0x21B5},   {"cross", 0x2717},
    {"cup", 0x222A},       {"curren", 0xA4},    {"dArr", 0x21D3},
    {"dagger", 0x2020},    {"darr", 0x2193},    {"dash", 0x2010},
    {"dcaron", 0x10F},     {"deg", 0xB0},       {"delta", 0x3B4},
    {"diams", 0x2666},     {"divide", 0xF7},    {"dollar", 0x24},
    {"dstrok", 0x111},     {"eacute", 0xE9},    {"ecaron", 0x11B},
    {"ecirc", 0xEA},       {"egrave", 0xE8},    {"emacr", 0x113},
    {"empty", 0x2205},     {"emsp", 0x2003},    {"emsp13", 0x2004},
    {"emsp14", 0x2005},    {"ensp", 0x2002},    {"eogon", 0x119},
    {"epsilon", 0x3B5},    {"equals", 0x3D},    {"equiv", 0x2261},
    {"eta", 0x3B7},        {"eth", 0xF0},       {"euml", 0xEB},
    {"euro", 0x20AC},      {"excl", 0x21},      {"exist", 0x2203},
    {"female", 0x2640},    {"fnof", 0x192},     {"forall", 0x2200},
    {"frac12", 0xBD},      {"frac13", 0x2153},  {"frac14", 0xBC},
    {"frac15", 0x2155},    {"frac18", 0x215B},  {"frac23", 0x2154},
    {"frac34", 0xBE},      {"frac38", 0x215C},  {"frac58", 0x215D},
    {"frac78", 0x215E},    {"frasl", 0x2044},   {"gamma", 0x3B3},
    {"gbreve", 0x11F},     {"ge", 0x2265},      {"grave", 0x60},
    {"gt", 0x3E},          {"hArr", 0x21D4},    {"hairsp", 0x200A},
    {"half", 0xBD},        {"harr", 0x2194},    {"hearts", 0x2665},
    {"hellip", 0x2026},    {"horbar", 0x2015},  {"hyphen", 0x2010},
    {"iacute", 0xED},      {"icirc", 0xEE},     {"iexcl", 0xA1},
    {"igrave", 0xEC},      {"imacr", 0x12B},    {"image", 0x2111},
    {"infin", 0x221E},     {"inodot", 0x131},   {"int", 0x222B},
    {"iota", 0x3B9},       {"iquest", 0xBF},    {"isin", 0x2208},
    {"iuml", 0xEF},        {"kappa", 0x3BA},    {"lArr", 0x21D0},
    {"lambda", 0x3BB},     {"lang", 0x2329},    {"laquo", 0xAB},
    {"larr", 0x2190},      {"lbrace", 0x7B},    {"lbrack", 0x5B},
    {"lceil", 0x2308},     {"lcub", 0x7B},      {"ldquo", 0x201C},
    {"ldquor", 0x201E},    {"le", 0x2264},      {"lfloor", 0x230A},
    {"lowast", 0x2217},    {"lowbar", 0x5F},    {"loz", 0x25CA},
    {"lpar", 0x28},        {"lrm", 0x200E},     {"lsaquo", 0x2039},
    {"lsqb", 0x5B},        {"lsquo", 0x2018},   {"lsquor", 0x201A},
    {"lstrok", 0x142},     {"lt", 0x3C},        {"macr", 0xAF},
    {"male", 0x2642},      {"mdash", 0x2014},   {"micro", 0xB5},
    {"middot", 0xB7},      {"minus", 0x2212},   {"mldr", 0x2026},
    {"mu", 0x3BC},         {"nabla", 0x2207},   {"nacute", 0x144},
    {"nbsp", 0xA0},        {"ncaron", 0x148},   {"ncedil", 0x146},
    {"ndash", 0x2013},     {"ne", 0x2260},      {"ni", 0x220B},
    {"nldr", 0x2025},      {"not", 0xAC},       {"notin", 0x2209},
    {"nsub", 0x2284},      {"ntilde", 0xF1},    {"nu", 0x3BD},
    {"num", 0x23},         {"numero", 0x2116},  {"numsp", 0x2007},
    {"oacute", 0xF3},      {"ocirc", 0xF4},     {"odblac", 0x151},
    {"oelig", 0x153},      {"ograve", 0xF2},    {"oline", 0x203E},
    {"omacr", 0x14D},      {"omega", 0x3C9},    {"omicron", 0x3BF},
    {"oplus", 0x2295},     {"or", 0x2228},      {"ordf", 0xAA},
    {"ordm", 0xBA},        {"oslash", 0xF8},    {"otilde", 0xF5},
    {"otimes", 0x2297},    {"ouml", 0xF6},      {"para", 0xB6},
    {"part", 0x2202},      {"percnt", 0x25},    {"period", 0x2E},
    {"permil", 0x2030},    {"perp", 0x22A5},    {"phi", 0x3C6},
    {"phone", 0x260E},     {"pi", 0x3C0},       {"piv", 0x3D6},
    {"plus", 0x2B},        {"plusmn", 0xB1},    {"pound", 0xA3},
    {"prime", 0x2032},     {"prod", 0x220F},    {"prop", 0x221D},
    {"psi", 0x3C8},        {"puncsp", 0x2008},  {"quest", 0x3F},
    {"quot", 0x22},        {"rArr", 0x21D2},    {"radic", 0x221A},
    {"rang", 0x232A},      {"raquo", 0xBB},     {"rarr", 0x2192},
    {"rarrw", 0x219D},     {"rbrace", 0x7D},    {"rbrack", 0x5D},
    {"rcaron", 0x159},     {"rceil", 0x2309},   {"rcub", 0x7D},
    {"rdquo", 0x201D},     {"rdquor", 0x201D},  {"real", 0x211C},
    {"reg", 0xAE},         {"rfloor", 0x230B},  {"rho", 0x3C1},
    {"rlm", 0x200F},       {"rpar", 0x29},      {"rsaquo", 0x203A},
    {"rsqb", 0x5D},        {"rsquo", 0x2019},   {"rsquor", 0x2019},
    {"sacute", 0x15B},     {"sbquo", 0x201A},   {"scaron", 0x161},
    {"scedil", 0x15F},     {"sdot", 0x22C5},    {"sect", 0xA7},
    {"semi", 0x3B},        {"shy", 0xAD},       {"sigma", 0x3C3},
    {"sigmaf", 0x3C2},     {"sim", 0x223C},     {"sol", 0x2F},
    {"spades", 0x2660},    {"star", 0x2606},    {"sub", 0x2282},
    {"sube", 0x2286},      {"sum", 0x2211},     {"sup", 0x2283},
    {"sup1", 0xB9},        {"sup2", 0xB2},      {"sup3", 0xB3},
    {"supe", 0x2287},      {"szlig", 0xDF},     {"tau", 0x3C4},
    {"tcaron", 0x165},     {"tcedil", 0x163},   {"there4", 0x2234},
    {"theta", 0x3B8},      {"thetasym", 0x3D1}, {"thinsp", 0x2009},
    {"thorn", 0xFE},       {"tilde", 0x2DC},    {"times", 0xD7},
    {"trade", 0x2122},     {"uArr", 0x21D1},    {"uacute", 0xFA},
    {"uarr", 0x2191},      {"ucirc", 0xFB},     {"udblac", 0x171},
    {"ugrave", 0xF9},      {"umacr", 0x16B},    {"uml", 0xA8},
    {"upsih", 0x3D2},      {"upsilon", 0x3C5},  {"uring", 0x16F},
    {"uuml", 0xFC},        {"verbar", 0x7C},    {"vert", 0x7C},
    {"weierp", 0x2118},    {"xi", 0x3BE},       {"yacute", 0xFD},
    {"yen", 0xA5},         {"yuml", 0xFF},      {"zacute", 0x17A},
    {"zcaron", 0x17E},     {"zdot", 0x17C},     {"zeta", 0x3B6},
    {"zwj", 0x200D},       {"zwnj", 0x200C},
};

constexpr char32_t kWindows1252[32] = {0x20AC, 0x81,   0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021,
                                       0x02C6, 0x2030, 0x0160, 0x2039, 0x0152, 0x8D,   0x017D, 0x8F,
                                       0x90,   0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014,
                                       0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0x9D,   0x017E, 0x0178};

bool is_name_character(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

}  // namespace

char32_t windows1252(unsigned char b) { return b >= 0x80 && b < 0xA0 ? kWindows1252[b - 0x80] : char32_t{b}; }

char32_t named_character(std::string_view name) {
  const auto at = std::ranges::lower_bound(kNamed, name, {}, &NamedCharacter::name);
  return at != std::end(kNamed) && at->name == name ? at->cp : 0;
}

std::optional<uint32_t> reference_number(std::string_view digits) {
  const bool hex = !digits.empty() && (digits[0] == 'x' || digits[0] == 'X');
  if (hex) digits.remove_prefix(1);
  if (digits.empty()) return std::nullopt;
  uint32_t n = 0;
  for (const char c : digits) {
    const int v = c >= '0' && c <= '9'          ? c - '0'
                  : hex && c >= 'a' && c <= 'f' ? c - 'a' + 10
                  : hex && c >= 'A' && c <= 'F' ? c - 'A' + 10
                                                : -1;
    if (v < 0) return std::nullopt;
    n = std::min(n * (hex ? 16 : 10) + static_cast<uint32_t>(v), uint32_t{0x110000});
  }
  return n;
}

CharacterReference read_reference(std::string_view s, size_t i) {
  constexpr size_t kLongest = 24;
  size_t n = i + 1;
  const bool number = n < s.size() && s[n] == '#';
  n += number;
  const size_t begin = n;
  while (n < s.size() && n - begin < kLongest && is_name_character(s[n])) ++n;
  if (n == begin || n == s.size() || s[n] != ';') return {};
  return {s.substr(begin, n - begin), number, n + 1 - i};
}

namespace {

// The names that browsers also know without a semicolon: those of Latin-1 and of markup.
bool is_known_bare(std::string_view name, char32_t cp) {
  return (cp >= 0xA0 && cp <= 0xFF && name != "half") || cp == '&' || cp == '<' || cp == '>' || cp == '"';
}

// A reference that no semicolon ends: digits, or the longest such name that the letters begin with.
CharacterReference read_bare_reference(std::string_view s, size_t i) {
  constexpr size_t kLongest = 6, kShortest = 2, kDigits = 8;
  const std::string_view rest = s.substr(i + 1);
  if (rest.starts_with('#')) {
    const bool hex = rest.size() > 1 && (rest[1] == 'x' || rest[1] == 'X');
    const std::string_view digits = rest.substr(1);
    size_t n = hex ? 1 : 0;
    while (n < digits.size() && n < kDigits && reference_number(digits.substr(0, n + 1))) ++n;
    return n > (hex ? 1 : 0) ? CharacterReference{digits.substr(0, n), true, n + 2} : CharacterReference();
  }
  for (size_t n = std::min(kLongest, rest.size()); n >= kShortest; --n)
    if (is_known_bare(rest.substr(0, n), named_character(rest.substr(0, n))))
      return {rest.substr(0, n), false, n + 1};
  return {};
}

}  // namespace

size_t append_entity(std::string_view s, size_t i, std::string& out) {
  CharacterReference r = read_reference(s, i);
  if (r.bytes == 0 || (!r.number && named_character(r.name) == 0)) r = read_bare_reference(s, i);
  if (r.bytes == 0) return 0;
  char32_t cp = 0;
  if (r.number) {
    const uint32_t n = reference_number(r.name).value_or(0);
    const bool scalar = n < 0xD800 || (n > 0xDFFF && n <= 0x10FFFF);
    cp = !scalar ? 0 : n < 0x100 ? windows1252(static_cast<unsigned char>(n)) : char32_t{n};
  } else {
    cp = named_character(r.name);
  }
  if (cp == 0) return 0;
  if (cp == 0xA0) {
    out += ' ';
  } else if (cp != 0xAD) {  // a soft hyphen is nothing
    utf8_append(out, cp);
  }
  return r.bytes;
}

}  // namespace quern::text
