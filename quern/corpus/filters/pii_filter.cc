// Masks personal data: e-mail addresses become <EMAIL>, public IPv4 addresses <IP>. Nothing is rejected.
//   e-mail   letters, digits and . _ % + - before the @ (no leading, trailing or double dot), then labels of letters,
//            digits and - separated by dots, the last of two letters or more
//   IPv4     four numbers of 0 to 255 without leading zeros, separated by dots, with neither a digit nor a dot and a
//            digit before or after (1.2.3.4.5 is a version); private, loopback, link-local, documentation, multicast
//            and reserved addresses (0/8, 240/4) are kept: they identify nobody
// Cost: two byte searches; text without @ and dotted digits is passed on unchanged.
#include <algorithm>

#include "quern/corpus/filters/filter_makers.h"

namespace quern::corpus {
namespace {

bool digit(char c) { return c >= '0' && c <= '9'; }
bool letter(char c) { return (c | 32) >= 'a' && (c | 32) <= 'z'; }
bool local(char c) { return letter(c) || digit(c) || c == '.' || c == '_' || c == '%' || c == '+' || c == '-'; }

struct Piece {
  size_t begin = 0, end = 0;
};

// The address around s[at] == '@', beginning no earlier than `from`; empty when there is none.
Piece email_at(std::string_view s, size_t at, size_t from) {
  size_t begin = at;
  while (begin > from && local(s[begin - 1])) --begin;
  if (const size_t dots = s.substr(begin, at - begin).rfind(".."); dots != s.npos) begin += dots + 2;
  while (begin < at && s[begin] == '.') ++begin;
  if (begin == at || s[at - 1] == '.') return {};
  size_t i = at + 1, end = 0;
  for (bool first = true;; first = false) {  // labels
    const size_t label = i;
    while (i < s.size() && (letter(s[i]) || digit(s[i]) || s[i] == '-')) ++i;
    if (i == label || s[label] == '-' || s[i - 1] == '-') break;
    if (!first && i - label >= 2 &&
        std::all_of(s.begin() + static_cast<std::ptrdiff_t>(label), s.begin() + static_cast<std::ptrdiff_t>(i),
                    letter))
      end = i;
    if (i + 1 >= s.size() || s[i] != '.') break;
    ++i;
  }
  return end == 0 ? Piece{} : Piece{begin, end};
}

bool points_to_somebody(const int (&n)[4]) {
  if (n[0] == 0 || n[0] == 10 || n[0] == 127 || n[0] >= 224) return false;
  if (n[0] == 100 && n[1] >= 64 && n[1] < 128) return false;
  if ((n[0] == 169 && n[1] == 254) || (n[0] == 172 && n[1] >= 16 && n[1] < 32)) return false;
  if (n[0] == 192 && (n[1] == 168 || (n[1] == 0 && (n[2] == 0 || n[2] == 2)))) return false;
  if (n[0] == 198 && (n[1] == 18 || n[1] == 19 || (n[1] == 51 && n[2] == 100))) return false;
  return !(n[0] == 203 && n[1] == 0 && n[2] == 113);
}

// The address that begins at s[at], a digit without one before it.
Piece ip_at(std::string_view s, size_t at) {
  if (at >= 2 && s[at - 1] == '.' && digit(s[at - 2])) return {};
  int n[4] = {};
  size_t i = at;
  for (int k = 0; k < 4; ++k) {
    const size_t begin = i;
    while (i < s.size() && digit(s[i]) && i - begin < 4) n[k] = n[k] * 10 + (s[i++] - '0');
    if (i == begin || i - begin > 3 || n[k] > 255 || (i - begin > 1 && s[begin] == '0')) return {};
    if (k < 3 && (i >= s.size() || s[i++] != '.')) return {};
  }
  if (i + 1 < s.size() && s[i] == '.' && digit(s[i + 1])) return {};
  return points_to_somebody(n) ? Piece{at, i} : Piece{};
}

class PiiMask : public DocumentFilter {
 public:
  std::span<const char* const> rules() const override { return {}; }
  FilterResult apply(std::string_view text) override {
    FilterResult j;
    masked_.clear();
    size_t copied = 0;
    const auto mask = [&](Piece p, const char* with) {
      masked_.append(text, copied, p.begin - copied);
      masked_ += with;
      copied = p.end;
    };
    for (size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '@') {
        if (const Piece p = email_at(text, i, copied); p.end > 0) mask(p, "<EMAIL>"), i = p.end - 1;
      } else if (digit(text[i]) && (i == 0 || !digit(text[i - 1]))) {
        if (const Piece p = ip_at(text, i); p.end > 0) mask(p, "<IP>"), i = p.end - 1;
      }
    }
    j.changed = copied > 0;
    if (j.changed) masked_.append(text, copied);
    j.text = j.changed ? std::string_view(masked_) : text;
    return j;
  }

 private:
  std::string masked_;
};

}  // namespace

FilterMaker pii_filter(const std::string&) {
  return [] { return std::make_unique<PiiMask>(); };
}

}  // namespace quern::corpus
