#include "quern/corpus/pii/addresses.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "quern/corpus/bytes/ascii.h"

namespace quern::corpus {
namespace {

bool local_part(char c) { return ascii_alnum(c) || c == '.' || c == '_' || c == '%' || c == '+' || c == '-'; }

bool points_to_somebody(const int (&n)[4]) {
  if (n[0] == 0 || n[0] == 10 || n[0] == 127 || n[0] >= 224) return false;
  if (n[0] == 100 && n[1] >= 64 && n[1] < 128) return false;
  if ((n[0] == 169 && n[1] == 254) || (n[0] == 172 && n[1] >= 16 && n[1] < 32)) return false;
  if (n[0] == 192 && (n[1] == 168 || (n[1] == 0 && (n[2] == 0 || n[2] == 2)))) return false;
  if (n[0] == 198 && (n[1] == 18 || n[1] == 19 || (n[1] == 51 && n[2] == 100))) return false;
  return !(n[0] == 203 && n[1] == 0 && n[2] == 113);
}

// Four numbers from s[i] on; i is then behind them.
bool read_ipv4(std::string_view s, size_t& i, int (&n)[4]) {
  for (int k = 0; k < 4; ++k) {
    const size_t begin = i;
    n[k] = 0;
    while (i < s.size() && ascii_digit(s[i]) && i - begin < 4) n[k] = n[k] * 10 + (s[i++] - '0');
    if (i == begin || i - begin > 3 || n[k] > 255 || (i - begin > 1 && s[begin] == '0')) return false;
    if (k < 3 && (i >= s.size() || s[i++] != '.')) return false;
  }
  return !(i + 1 < s.size() && s[i] == '.' && ascii_digit(s[i + 1]));
}

// A number of up to four hexadecimal digits; -1: none.
int read_hex(std::string_view s, size_t& i) {
  int v = 0;
  const size_t begin = i;
  for (; i < s.size() && hex_digit(s[i]) >= 0; ++i) {
    if (i - begin == 4) return -1;
    v = v * 16 + hex_digit(s[i]);
  }
  return i == begin ? -1 : v;
}

bool public_ipv6(uint32_t first, uint32_t second) {
  if (first < 0x2000 || first > 0x3fff) return false;
  if (first == 0x2001) return second >= 0x200 && second != 0xdb8;  // protocol assignments, documentation
  return !(first == 0x3fff && second < 0x1000);                    // documentation too
}

// "git@host.org:project", which every reader of a page is to type, and "icon@2x.png".
bool of_no_person(std::string_view s, size_t begin, size_t at, size_t end) {
  const std::string_view host = s.substr(at + 1, end - at - 1);
  if (s.substr(begin, at - begin) == "git" && end + 1 < s.size() && s[end] == ':' && s[end + 1] > ' ') return true;
  return host.size() > 2 && ascii_digit(host[0]) && host[1] == 'x' && host[2] == '.';
}

}  // namespace

TextRange email_at(std::string_view s, size_t at, size_t from) {
  size_t begin = at;
  while (begin > from && local_part(s[begin - 1])) --begin;
  if (const size_t dots = s.substr(begin, at - begin).rfind(".."); dots != s.npos) begin += dots + 2;
  while (begin < at && s[begin] == '.') ++begin;
  if (begin == at || s[at - 1] == '.') return {};
  size_t i = at + 1, end = 0;
  for (bool first = true;; first = false) {  // labels
    const size_t label = i;
    while (i < s.size() && (ascii_alnum(s[i]) || s[i] == '-')) ++i;
    if (i == label || s[label] == '-' || s[i - 1] == '-') break;
    if (!first && i - label >= 2 && std::ranges::all_of(s.substr(label, i - label), ascii_letter)) end = i;
    if (i + 1 >= s.size() || s[i] != '.') break;
    ++i;
  }
  if (end == 0 || of_no_person(s, begin, at, end)) return {};
  return {begin, end};
}

TextRange public_ipv4_at(std::string_view s, size_t at) {
  if (at >= 2 && s[at - 1] == '.' && ascii_digit(s[at - 2])) return {};
  int n[4];
  size_t i = at;
  return read_ipv4(s, i, n) && points_to_somebody(n) ? TextRange{at, i} : TextRange{};
}

TextRange public_ipv6_at(std::string_view s, size_t at) {
  if (at + 4 >= s.size() || s[at + 4] != ':') return {};
  if (at > 0 && (ascii_alnum(s[at - 1]) || s[at - 1] == ':' || s[at - 1] == '_' || s[at - 1] == '.')) return {};
  std::array<uint32_t, 2> first = {};
  size_t i = at, end = 0;
  int groups = 0;
  bool gap = false;
  while (groups < 8) {
    const size_t begin = i;
    const int v = read_hex(s, i);
    if (v < 0) {
      if (i != begin) return {};  // five digits and more
      break;                      // "1::" ends here, "1:" before its colon
    }
    if (i < s.size() && s[i] == '.' && ascii_digit(s[begin]) && groups <= 6) {
      int n[4];
      size_t dotted = begin;
      if (!read_ipv4(s, dotted, n)) break;
      groups += 2, end = i = dotted;
      break;
    }
    if (groups < 2 && !gap) first[static_cast<size_t>(groups)] = static_cast<uint32_t>(v);
    ++groups, end = i;
    if (i >= s.size() || s[i] != ':' || groups == 8) break;
    if (i + 1 < s.size() && s[i + 1] == ':') {
      if (gap) return {};
      gap = true, i += 2, end = i;
    } else {
      ++i;
    }
  }
  if (gap ? groups > 7 : groups != 8) return {};
  if (end < s.size() && (ascii_alnum(s[end]) || s[end] == '_')) return {};
  if (end + 1 < s.size() && s[end] == ':' && (hex_digit(s[end + 1]) >= 0 || s[end + 1] == ':')) return {};
  return public_ipv6(first[0], first[1]) ? TextRange{at, end} : TextRange{};
}

}  // namespace quern::corpus
