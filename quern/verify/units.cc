#include "quern/verify/units.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <map>
#include <numbers>
#include <vector>

#include "quern/verify/answer_numbers.h"
#include "quern/verify/answer_text.h"

namespace quern::verify {
namespace {

constexpr Dimension kNone = {}, kLength = {1}, kMass = {0, 1}, kTime = {0, 0, 1}, kKelvin = {0, 0, 0, 0, 1},
                    kBytes = {0, 0, 0, 0, 0, 0, 0, 1}, kAngle = {0, 0, 0, 0, 0, 0, 0, 0, 1};
constexpr long double kPi = std::numbers::pi_v<long double>;

enum class Prefixes : uint8_t { no, si, bytes };

struct NamedUnit {
  Unit unit;
  Prefixes prefixes = Prefixes::no;
};

using UnitTable = std::map<std::string, NamedUnit, std::less<>>;

constexpr Dimension power_of(const Dimension& d, int n) {
  Dimension out = {};
  for (size_t i = 0; i < d.size(); ++i) out[i] = static_cast<int8_t>(d[i] * n);
  return out;
}

// Symbols: their case counts.
const UnitTable& symbols() {
  constexpr Dimension kForce = {1, 1, -2}, kEnergy = {2, 1, -2}, kPower = {2, 1, -3}, kPressure = {-1, 1, -2};
  constexpr auto kSi = Prefixes::si;
  static const UnitTable table = {{"m", {{1, 0, kLength}, kSi}},
                                  {"g", {{1e-3L, 0, kMass}, kSi}},
                                  {"s", {{1, 0, kTime}, kSi}},
                                  {"A", {{1, 0, {0, 0, 0, 1}}, kSi}},
                                  {"K", {{1, 0, kKelvin}, kSi}},
                                  {"mol", {{1, 0, {0, 0, 0, 0, 0, 1}}, kSi}},
                                  {"cd", {{1, 0, {0, 0, 0, 0, 0, 0, 1}}, kSi}},
                                  {"rad", {{1, 0, kAngle}, kSi}},
                                  {"Hz", {{1, 0, {0, 0, -1}}, kSi}},
                                  {"N", {{1, 0, kForce}, kSi}},
                                  {"J", {{1, 0, kEnergy}, kSi}},
                                  {"W", {{1, 0, kPower}, kSi}},
                                  {"Pa", {{1, 0, kPressure}, kSi}},
                                  {"V", {{1, 0, {2, 1, -3, -1}}, kSi}},
                                  {"C", {{1, 0, {0, 0, 1, 1}}, kSi}},
                                  {"F", {{1, 0, {-2, -1, 4, 2}}, kSi}},
                                  {"Ω", {{1, 0, {2, 1, -3, -2}}, kSi}},
                                  {"Wh", {{3600, 0, kEnergy}, kSi}},
                                  {"eV", {{1.602176634e-19L, 0, kEnergy}, kSi}},
                                  {"cal", {{4.184L, 0, kEnergy}, kSi}},
                                  {"bar", {{1e5L, 0, kPressure}, kSi}},
                                  {"atm", {{101325, 0, kPressure}}},
                                  {"L", {{1e-3L, 0, {3}}, kSi}},
                                  {"l", {{1e-3L, 0, {3}}, kSi}},
                                  {"t", {{1000, 0, kMass}, kSi}},
                                  {"ha", {{1e4L, 0, {2}}}},
                                  {"min", {{60, 0, kTime}}},
                                  {"h", {{3600, 0, kTime}}},
                                  {"hr", {{3600, 0, kTime}}},
                                  {"hrs", {{3600, 0, kTime}}},
                                  {"sec", {{1, 0, kTime}}},
                                  {"secs", {{1, 0, kTime}}},
                                  {"mins", {{60, 0, kTime}}},
                                  {"d", {{86400, 0, kTime}}},
                                  {"B", {{1, 0, kBytes}, Prefixes::bytes}},
                                  {"bit", {{0.125L, 0, kBytes}, Prefixes::bytes}},
                                  {"in", {{0.0254L, 0, kLength}}},
                                  {"ft", {{0.3048L, 0, kLength}}},
                                  {"yd", {{0.9144L, 0, kLength}}},
                                  {"mi", {{1609.344L, 0, kLength}}},
                                  {"lb", {{0.45359237L, 0, kMass}}},
                                  {"lbs", {{0.45359237L, 0, kMass}}},
                                  {"oz", {{0.028349523125L, 0, kMass}}},
                                  {"gal", {{0.003785411784L, 0, {3}}}},
                                  {"mph", {{0.44704L, 0, {1, 0, -1}}}},
                                  {"kph", {{1 / 3.6L, 0, {1, 0, -1}}}},
                                  {"°", {{kPi / 180, 0, kAngle}}},
                                  {"°C", {{1, 273.15L, kKelvin}}},
                                  {"℃", {{1, 273.15L, kKelvin}}},
                                  {"°F", {{5 / 9.0L, 459.67L, kKelvin}}},
                                  {"℉", {{5 / 9.0L, 459.67L, kKelvin}}},
                                  {"psi", {{6894.757293168L, 0, kPressure}}},
                                  {"$", {{1, 0, {0, 0, 0, 0, 0, 0, 0, 0, 0, 1}}}},
                                  {"USD", {{1, 0, {0, 0, 0, 0, 0, 0, 0, 0, 0, 1}}}},
                                  {"¢", {{0.01L, 0, {0, 0, 0, 0, 0, 0, 0, 0, 0, 1}}}},
                                  {"€", {{1, 0, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}}}},
                                  {"EUR", {{1, 0, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}}}},
                                  {"£", {{1, 0, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}}}},
                                  {"GBP", {{1, 0, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}}}},
                                  {"¥", {{1, 0, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}}}},
                                  {"JPY", {{1, 0, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}}}}};
  return table;
}

// Words in lower case, in the singular: the symbol each stands for.
const std::map<std::string, const char*, std::less<>>& unit_words() {
  static const std::map<std::string, const char*, std::less<>> table = {
      {"meter", "m"},    {"metre", "m"},     {"gram", "g"},     {"second", "s"},   {"ampere", "A"},  {"amp", "A"},
      {"kelvin", "K"},   {"mole", "mol"},    {"candela", "cd"}, {"radian", "rad"}, {"hertz", "Hz"},  {"newton", "N"},
      {"joule", "J"},    {"watt", "W"},      {"pascal", "Pa"},  {"volt", "V"},     {"coulomb", "C"}, {"farad", "F"},
      {"ohm", "Ω"},      {"calorie", "cal"}, {"liter", "L"},    {"litre", "L"},    {"ton", "t"},     {"tonne", "t"},
      {"hectare", "ha"}, {"minute", "min"},  {"hour", "h"},     {"day", "d"},      {"byte", "B"},    {"bit", "bit"},
      {"inch", "in"},    {"inche", "in"},    {"foot", "ft"},    {"feet", "ft"},    {"yard", "yd"},   {"mile", "mi"},
      {"pound", "lb"},   {"ounce", "oz"},    {"gallon", "gal"}, {"degree", "°"},   {"dollar", "$"},  {"cent", "¢"},
      {"euro", "€"},     {"yen", "¥"}};
  return table;
}

struct Prefix {
  const char *symbol, *word;
  long double factor;
};
const Prefix kPrefixes[] = {
    {"p", "pico", 1e-12L}, {"n", "nano", 1e-9L},  {"µ", "micro", 1e-6L}, {"μ", "micro", 1e-6L}, {"u", "micro", 1e-6L},
    {"m", "milli", 1e-3L}, {"c", "centi", 1e-2L}, {"d", "deci", 1e-1L},  {"h", "hecto", 1e2L},  {"k", "kilo", 1e3L},
    {"M", "mega", 1e6L},   {"G", "giga", 1e9L},   {"T", "tera", 1e12L},  {"P", "peta", 1e15L}};
const Prefix kBinary[] = {{"Ki", "kibi", 0x1p10L},
                          {"Mi", "mebi", 0x1p20L},
                          {"Gi", "gibi", 0x1p30L},
                          {"Ti", "tebi", 0x1p40L},
                          {"Pi", "pebi", 0x1p50L}};

Unit scaled(Unit u, long double by) {
  u.factor *= by;
  return u;
}

std::optional<Unit> by_symbol(std::string_view s) {
  if (const auto at = symbols().find(s); at != symbols().end()) return at->second.unit;
  if (s == "KB") s = "kB";
  for (const Prefix& p : kPrefixes)
    if (s.starts_with(p.symbol))
      if (const auto at = symbols().find(s.substr(std::string_view(p.symbol).size())); at != symbols().end()) {
        const bool may =
            at->second.prefixes == Prefixes::si || (at->second.prefixes == Prefixes::bytes && p.factor > 100);
        if (may) return scaled(at->second.unit, p.factor);
      }
  for (const Prefix& p : kBinary)
    if (s.starts_with(p.symbol))
      if (const auto at = symbols().find(s.substr(2));
          at != symbols().end() && at->second.prefixes == Prefixes::bytes)
        return scaled(at->second.unit, p.factor);
  return {};
}

std::optional<Unit> by_word(std::string_view given) {
  const std::string lower = lower_case(given);
  static const std::map<std::string, Unit, std::less<>> kMore = {{"week", {604800, 0, kTime}},
                                                                 {"celsius", {1, 273.15L, kKelvin}},
                                                                 {"fahrenheit", {5 / 9.0L, 459.67L, kKelvin}},
                                                                 {"degree celsius", {1, 273.15L, kKelvin}},
                                                                 {"degree fahrenheit", {5 / 9.0L, 459.67L, kKelvin}}};
  for (std::string w : {lower, lower.ends_with('s') ? lower.substr(0, lower.size() - 1) : lower}) {
    if (w.starts_with("degrees ")) w.erase(6, 1);
    if (const auto at = kMore.find(w); at != kMore.end()) return at->second;
    if (const auto at = unit_words().find(w); at != unit_words().end()) return by_symbol(at->second);
    for (const auto* list : {std::begin(kPrefixes), std::begin(kBinary)}) {
      const size_t n = list == kPrefixes ? std::size(kPrefixes) : std::size(kBinary);
      for (const Prefix* p = list; p < list + n; ++p) {
        const std::string_view word = p->word;
        const auto at = w.starts_with(word) ? unit_words().find(w.substr(word.size())) : unit_words().end();
        if (at == unit_words().end()) continue;
        const Prefixes may = symbols().at(at->second).prefixes;
        if (may == Prefixes::no || (list == kBinary && may != Prefixes::bytes)) continue;
        return scaled(*by_symbol(at->second), p->factor);
      }
    }
  }
  return {};
}

// One name with a power: "m", "s^2", "m²", "s^-1".
std::optional<Unit> factor_of(std::string_view s) {
  s = trimmed(s);
  int power = 1;
  for (const auto& [text, n] : {std::pair<std::string_view, int>{"²", 2}, {"³", 3}})
    if (s.ends_with(text)) power = n, s.remove_suffix(text.size());
  if (const size_t hat = s.find('^'); hat != s.npos && power == 1) {
    std::string_view digits = s.substr(hat + 1);
    if (digits.starts_with('{') && digits.ends_with('}')) digits = digits.substr(1, digits.size() - 2);
    const auto [end, wrong] = std::from_chars(digits.data(), digits.data() + digits.size(), power);
    if (wrong != std::errc() || end != digits.data() + digits.size() || power == 0 || std::abs(power) > 6) return {};
    s = trimmed(s.substr(0, hat));
  }
  for (const auto& [word, n] : {std::pair<std::string_view, int>{"square ", 2}, {"cubic ", 3}, {"sq ", 2}})
    if (power == 1 && lower_case(s).starts_with(word)) power = n, s.remove_prefix(word.size());
  std::optional<Unit> u = by_symbol(s);
  if (!u) u = by_word(s);
  if (!u || (power != 1 && u->offset != 0)) return {};
  if (power == 1) return u;
  return Unit{std::pow(u->factor, static_cast<long double>(power)), 0, power_of(u->dimension, power)};
}

std::string replaced(std::string s, std::string_view what, std::string_view by) {
  for (size_t at = 0; (at = s.find(what, at)) != s.npos; at += by.size()) s.replace(at, what.size(), by);
  return s;
}

// "1 250 000" behind its first digits, which end at `end`. "1 250/3" may be a mixed number, and is not read.
size_t end_of_blank_groups(std::string_view s, size_t end) {
  const auto digit = [&](size_t i) { return i < s.size() && s[i] >= '0' && s[i] <= '9'; };
  if (end == 0 || end > 3 || s[0] == '0') return end;
  size_t at = end;
  while (at < s.size() && s[at] == ' ' && digit(at + 1) && digit(at + 2) && digit(at + 3) && !digit(at + 4)) at += 4;
  return s.substr(at).starts_with('/') && at == end + 4 ? end : at;
}

// Digits with groups of three, decimals, an exponent; moves past them.
std::optional<long double> read_decimal(std::string_view& s) {
  size_t end = 0;
  while (end < s.size() && ((s[end] >= '0' && s[end] <= '9') || s[end] == ',')) ++end;
  const auto digit = [&](size_t i) { return i < s.size() && s[i] >= '0' && s[i] <= '9'; };
  std::string digits(s.substr(0, end));
  if (digits.find(',') != digits.npos)
    digits = without_groups(digits);
  else if (const size_t groups = end_of_blank_groups(s, end); groups != end)
    digits = replaced(std::string(s.substr(0, groups)), " ", ""), end = groups;
  if (digits.empty() && !(end == 0 && s.starts_with('.') && digit(1))) return {};
  if (end < s.size() && s[end] == '.' && digit(end + 1)) {
    digits += '.';
    for (++end; digit(end); ++end) digits += s[end];
  }
  if (end < s.size() && (s[end] == 'e' || s[end] == 'E')) {
    const bool is_signed = end + 1 < s.size() && (s[end + 1] == '-' || s[end + 1] == '+');
    if (size_t at = end + (is_signed ? 2 : 1); digit(at)) {
      while (digit(at)) ++at;
      digits += s.substr(end, at - end);
      end = at;
    }
  }
  s.remove_prefix(end);
  const long double v = std::strtold(digits.c_str(), nullptr);
  return std::isfinite(v) ? std::optional(v) : std::nullopt;
}

// "x 10^8", after a decimal; 1 where there is none.
std::optional<long double> read_power_of_ten(std::string_view& s) {
  std::string_view rest = trimmed(s);
  bool times = false;
  for (std::string_view sign : {"x", "*"})
    if (rest.starts_with(sign) && trimmed(rest.substr(1)).starts_with("10^"))
      rest = trimmed(rest.substr(1)), times = true;
  if (!times) return 1;
  rest.remove_prefix(3);
  const bool braces = rest.starts_with('{');
  if (braces) rest.remove_prefix(1);
  int n = 0;
  const auto [end, wrong] = std::from_chars(rest.data(), rest.data() + rest.size(), n);
  if (wrong != std::errc() || std::abs(n) > 4000) return {};
  rest.remove_prefix(static_cast<size_t>(end - rest.data()));
  if (braces && !rest.starts_with('}')) return {};
  s = braces ? rest.substr(1) : rest;
  return std::pow(10.0L, static_cast<long double>(n));
}

// \frac{m}{s} as m/s, where the lower part is one factor. A number before it stays apart: 2\frac{1}{2} is not 21/2.
std::string with_slashes(std::string s) {
  constexpr std::string_view kFrac = "\\frac{";
  const size_t at = s.find(kFrac), inside = at + kFrac.size();
  const auto above = at == s.npos ? std::nullopt : closing_brace(s, inside);
  if (!above || *above + 1 >= s.size() || s[*above + 1] != '{') return s;
  const auto below = closing_brace(s, *above + 2);
  if (!below) return s;
  const std::string upper(trimmed(std::string_view(s).substr(inside, *above - inside))),
      lower(trimmed(std::string_view(s).substr(*above + 2, *below - *above - 2)));
  if (upper.find('/') != upper.npos || lower.find_first_of("/* ") != lower.npos) return s;
  return s.substr(0, at) + " " + upper + "/" + lower + s.substr(*below + 1);
}

// The usual spellings in one: signs in ASCII, no LaTeX around units.
std::string plain_quantity(std::string_view text) {
  std::string s(text);
  for (const auto& [what, by] : std::initializer_list<std::pair<std::string_view, std::string_view>>{
           {"−", "-"},         {"×", "*"},       {"\\times", "*"},  {"\\cdot", "*"}, {"·", "*"},      {"⋅", "*"},
           {"{,}", ","},       {"\\!", ""},      {"\\,", " "},      {"\\;", " "},    {"\\ ", " "},    {"~", " "},
           {"\u00a0", " "},    {"\\$", "$"},     {"\\%", "%"},      {"\\:", " "},    {"\u2009", " "}, {"\u202f", " "},
           {"^{\\circ}", "°"}, {"^\\circ", "°"}, {"\\degree", "°"}, {"\\mu", "µ"},   {"º", "°"}})
    s = replaced(std::move(s), what, by);
  for (std::string_view command : {"\\text{", "\\mathrm{", "\\textrm{", "\\mbox{"})
    for (size_t at; (at = s.find(command)) != s.npos;) {
      const auto close = closing_brace(s, at + command.size());
      if (!close) break;
      s.replace(*close, 1, " "), s.replace(at, command.size(), " ");
    }
  s = with_slashes(std::move(s));
  return replaced(replaced(std::move(s), "° C", "°C"), "° F", "°F");
}

}  // namespace

std::optional<Unit> read_unit(std::string_view text) {
  Unit out;
  std::string s = replaced(std::string(trimmed(text)), " per ", "/");
  bool below = false, alone = true;
  for (size_t from = 0; from <= s.size();) {
    const size_t end = std::min(s.find_first_of("/*", from), s.size());
    std::string_view piece = trimmed(std::string_view(s).substr(from, end - from));
    if (below && piece.starts_with('(') && piece.ends_with(')')) piece = piece.substr(1, piece.size() - 2);
    const auto u = factor_of(piece);
    if (!u) return {};
    alone = alone && from == 0 && end == s.size();
    if (u->offset != 0 && !alone) return {};
    out.factor = below ? out.factor / u->factor : out.factor * u->factor;
    out.offset = u->offset;
    for (size_t i = 0; i < out.dimension.size(); ++i)
      out.dimension[i] = static_cast<int8_t>(out.dimension[i] + (below ? -1 : 1) * u->dimension[i]);
    if (end < s.size() && s[end] == '/') {
      if (below) return {};  // a/b/c
      below = true;
    }
    from = end + 1;
  }
  return out;
}

std::optional<Quantity> read_quantity(std::string_view text) {
  if (text.size() > 256) return {};
  const std::string plain = plain_quantity(text);
  std::string_view s = trimmed(plain);
  Quantity q;
  bool minus = false;
  const auto take_sign = [&] {
    if (s.starts_with('-') || s.starts_with('+')) minus = minus || s[0] == '-', s = trimmed(s.substr(1));
  };
  take_sign();
  for (std::string_view currency : {"$", "€", "£", "¥"})
    if (s.starts_with(currency)) q.unit = by_symbol(currency), s = trimmed(s.substr(currency.size()));
  if (q.unit && !minus) take_sign();
  const auto whole = read_decimal(s);
  if (!whole) return {};
  q.number = *whole;
  if (s.starts_with('/') && s.size() > 1 && s[1] >= '0' && s[1] <= '9') {
    s.remove_prefix(1);
    const auto below = read_decimal(s);
    if (!below || *below == 0) return {};
    q.number /= *below;
  } else {
    const auto power = read_power_of_ten(s);
    if (!power) return {};
    q.number *= *power;
  }
  if (minus) q.number = -q.number;
  s = trimmed(s);
  if (s == "%" || s == "percent") {
    q.number /= 100, q.percent = true;
    return q.unit ? std::nullopt : std::optional(q);
  }
  if (s.empty() || (q.unit && (s == "USD" || s == "EUR" || s == "GBP" || s == "JPY") &&
                    by_symbol(s)->dimension == q.unit->dimension))
    return q;
  if (q.unit) return {};
  q.unit = read_unit(s);
  return q.unit ? std::optional(q) : std::nullopt;
}

}  // namespace quern::verify
