#include "quern/corpus/pii/account_numbers.h"

#include <cstdint>
#include <string>

namespace quern::corpus {
namespace {

// Countries and lengths, SWIFT IBAN registry, release 101.
constexpr std::string_view kIbanLengths =
    "AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 DO28 EE20 EG29 "
    "ES24 FI18 FK18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HN28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 "
    "LB28 LC32 LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 MK19 MN20 MR27 MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29 "
    "PT25 QA29 RO24 RS22 RU33 SA24 SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20 "
    "YE30 ";

bool upper(char c) { return c >= 'A' && c <= 'Z'; }
char to_upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; }

// Whether "IBAN" stands before, so that small letters are no other word.
bool follows_iban_word(std::string_view s, size_t begin) {
  size_t end = begin;
  while (end > 0 && begin - end < 4 && (s[end - 1] == ' ' || s[end - 1] == ':' || s[end - 1] == '=')) --end;
  return end >= 4 && same_ascii_word(s.substr(end - 4, 4), "iban") && (end == 4 || !ascii_alnum(s[end - 5]));
}

// 0: no country of the registry.
size_t iban_length(std::string_view country) {
  for (size_t i = 0; i < kIbanLengths.size(); i += 5)
    if (kIbanLengths.substr(i, 2) == country)
      return static_cast<size_t>((kIbanLengths[i + 2] - '0') * 10 + kIbanLengths[i + 3] - '0');
  return 0;
}

bool luhn(std::string_view digits) {
  int sum = 0;
  for (size_t k = 0; k < digits.size(); ++k) {
    int d = digits[digits.size() - 1 - k] - '0';
    if (k % 2 == 1) d = d > 4 ? 2 * d - 9 : 2 * d;
    sum += d;
  }
  return sum % 10 == 0;
}

bool an_issuers(std::string_view digits) {
  const auto prefix = [&](size_t n) {
    int v = 0;
    for (size_t k = 0; k < n; ++k) v = v * 10 + (digits[k] - '0');
    return v;
  };
  const size_t n = digits.size();
  const int two = prefix(2), three = prefix(3), four = prefix(4);
  if (two / 10 == 4) return n == 13 || n == 16 || n == 19;                                    // Visa
  if (two == 34 || two == 37) return n == 15;                                                 // American Express
  if ((two >= 51 && two <= 55) || (four >= 2221 && four <= 2720)) return n == 16;             // Mastercard
  if (four == 6011 || (three >= 644 && three <= 649) || two == 65) return n >= 16;            // Discover
  if ((three >= 300 && three <= 305) || two == 36 || two == 38 || two == 39) return n == 14;  // Diners Club
  if (four >= 3528 && four <= 3589) return n >= 16;                                           // JCB
  return two == 62 && n >= 16;                                                                // UnionPay
}

}  // namespace

TextRange card_at(std::string_view s, const DigitGroups& g) {
  size_t groups = 0;
  if (g.group[0].size() >= 13) groups = 1;
  if (g.sizes({4, 4, 4, 4})) groups = g.sizes({4, 4, 4, 4, 3}) && g.one_separator(5, " -") ? 5 : 4;
  if (g.sizes({4, 6, 5}) || g.sizes({4, 6, 4})) groups = 3;
  if (groups == 0 || !g.one_separator(groups, " -") || number_came_before(s, g.group[0].begin)) return {};
  std::string digits;
  for (size_t k = 0; k < groups; ++k) digits.append(s.substr(g.group[k].begin, g.group[k].size()));
  const size_t end = g.group[groups - 1].end;
  if (digits.size() > 19 || number_goes_on(s, end) || !an_issuers(digits) || !luhn(digits)) return {};
  return {g.group[0].begin, end};
}

TextRange ssn_at(std::string_view s, const DigitGroups& g) {
  if (g.count != 3 || !g.sizes({3, 2, 4}) || !g.one_separator(3, "-")) return {};
  const size_t begin = g.group[0].begin, end = g.group[2].end;
  const std::string_view area = s.substr(begin, 3);
  if (end - begin != 11 || area == "000" || area == "666" || area[0] == '9') return {};
  if (s.substr(begin + 4, 2) == "00" || s.substr(begin + 7, 4) == "0000") return {};
  if (number_came_before(s, begin) || number_goes_on(s, end)) return {};
  return {begin, end};
}

TextRange iban_at(std::string_view s, size_t digits) {
  if (digits < 2 || digits + 2 > s.size() || !ascii_letter(s[digits - 1]) || !ascii_letter(s[digits - 2])) return {};
  const size_t begin = digits - 2;
  const char country[] = {to_upper(s[begin]), to_upper(s[begin + 1])};
  const size_t length = iban_length({country, 2});
  if (length == 0) return {};
  const bool small = !upper(s[begin]) || !upper(s[begin + 1]);
  if (small && !follows_iban_word(s, begin)) return {};
  if (begin > 0 && (ascii_alnum(s[begin - 1]) || s[begin - 1] == '_')) return {};
  std::string all;
  size_t i = begin;
  const char between = begin + 4 < s.size() ? s[begin + 4] : '\0';
  const bool in_fours = between == ' ' || between == '-';
  for (; i < s.size() && all.size() < length; ++i) {
    if (in_fours && s[i] == between && all.size() % 4 == 0 && s[i - 1] != between) continue;
    const char c = small ? to_upper(s[i]) : s[i];
    if (!upper(c) && !ascii_digit(c)) return {};
    all += c;
  }
  if (all.size() < length || !ascii_digit(all[2]) || !ascii_digit(all[3])) return {};
  if (i < s.size() && (ascii_alnum(s[i]) || s[i] == '_')) return {};
  uint32_t rest = 0;  // of the number with the first four at its end, A as 10 to Z as 35
  for (size_t k = 0; k < length; ++k) {
    const char c = all[(k + 4) % length];
    rest = ascii_digit(c) ? rest * 10 + static_cast<uint32_t>(c - '0')
                          : rest * 100 + static_cast<uint32_t>(c - 'A') + 10;
    rest %= 97;
  }
  return rest == 1 ? TextRange{begin, i} : TextRange{};
}

}  // namespace quern::corpus
