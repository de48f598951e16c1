#include "quern/corpus/pii/pii.h"

#include <algorithm>

#include "quern/base/error.h"
#include "quern/base/nearest.h"
#include "quern/corpus/bytes/ascii.h"
#include "quern/corpus/pii/account_numbers.h"
#include "quern/corpus/pii/addresses.h"
#include "quern/corpus/pii/phone_numbers.h"

namespace quern::corpus {
namespace {

constexpr std::array<const char*, kPiiKinds> kMasks = {"<EMAIL>", "<IP>",   "<IP>", "<PHONE>",
                                                       "<CARD>",  "<IBAN>", "<SSN>"};

constexpr std::array<bool, 256> kTriggers = [] {
  std::array<bool, 256> t{};
  t['@'] = true;
  for (int c = '0'; c <= '9'; ++c) t[static_cast<size_t>(c)] = true;
  return t;
}();

bool separates(char c) { return c == ' ' || c == '-' || c == '.' || c == '/' || c == ')' || c == '(' || (c & 0x80); }

class PiiScan {
 public:
  PiiScan(std::string_view s, PiiKinds kinds, std::vector<PiiSpan>& found) : s_(s), kinds_(kinds), found_(found) {
    numbers_ = kinds.has(PiiKind::phone) || kinds.has(PiiKind::card) || kinds.has(PiiKind::ssn);
  }

  void run() {
    for (size_t i = 0; i < s_.size();) {
      if (!kTriggers[static_cast<unsigned char>(s_[i])]) {
        ++i;
      } else if (s_[i] == '@') {
        i = kinds_.has(PiiKind::email) && take(email_at(s_, i, last_), PiiKind::email) ? last_ : i + 1;
      } else {
        i = digits(i);
      }
    }
  }

 private:
  bool take(TextRange r, PiiKind kind) {
    if (r.empty() || r.begin < last_) return false;
    found_.push_back({r.begin, r.end, kind});
    last_ = r.end;
    return true;
  }

  // A run of digits from i on; where to go on.
  size_t digits(size_t i) {
    size_t end = i + 1;
    while (end < s_.size() && ascii_digit(s_[end])) ++end;
    const char next = end < s_.size() ? s_[end] : '\0';
    if (kinds_.has(PiiKind::iban) && end - i >= 2 && take(iban_at(s_, i), PiiKind::iban)) return last_;
    if (next == '.' && end - i <= 3 && kinds_.has(PiiKind::ipv4) && take(public_ipv4_at(s_, i), PiiKind::ipv4))
      return last_;
    if ((s_[i] == '2' || s_[i] == '3') && end - i <= 4 && kinds_.has(PiiKind::ipv6) &&
        take(public_ipv6_at(s_, i), PiiKind::ipv6))
      return last_;
    if (numbers_ && (end - i >= 7 || (separates(next) && end + 1 < s_.size())) && number(i)) return last_;
    return end;
  }

  bool number(size_t i) {
    const DigitGroups g = digit_groups_at(s_, i);
    if (g.count == 0 || g.digits(g.with_spaced) < 7) return false;
    return (kinds_.has(PiiKind::card) && take(card_at(s_, g), PiiKind::card)) ||
           (kinds_.has(PiiKind::ssn) && take(ssn_at(s_, g), PiiKind::ssn)) ||
           (kinds_.has(PiiKind::phone) && take(phone_at(s_, g), PiiKind::phone));
  }

  std::string_view s_;
  PiiKinds kinds_;
  std::vector<PiiSpan>& found_;
  bool numbers_ = false;
  size_t last_ = 0;  // behind what was found
};

}  // namespace

PiiKinds PiiKinds::parse(const std::string& names, const char* form) {
  if (names == "all") return all();
  const std::vector<std::string> known(kPiiNames.begin(), kPiiNames.end());
  PiiKinds kinds;
  for (size_t at = 0; at <= names.size();) {
    const size_t end = std::min(names.find(',', at), names.size());
    const std::string one = names.substr(at, end - at);
    const auto k = std::ranges::find(known, one);
    if (k == known.end())
      fail("'{}' in {}: expected all, or some of {} with commas between{}", one, form, fmt::join(known, ", "),
           did_you_mean(one, known));
    kinds = kinds.with(static_cast<PiiKind>(k - known.begin()));
    at = end + 1;
  }
  return kinds;
}

void find_pii(std::string_view text, PiiKinds kinds, std::vector<PiiSpan>& found) {
  found.clear();
  PiiScan(text, kinds, found).run();
}

void mask_pii(std::string_view text, const std::vector<PiiSpan>& found, std::string& masked) {
  masked.clear();
  size_t copied = 0;
  for (const PiiSpan& f : found) {
    masked.append(text, copied, f.begin - copied);
    masked += kMasks[static_cast<size_t>(f.kind)];
    copied = f.end;
  }
  masked.append(text, copied);
}

}  // namespace quern::corpus
