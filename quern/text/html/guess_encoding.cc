#include "quern/text/html/guess_encoding.h"

#include <iconv.h>

#include <algorithm>
#include <bitset>
#include <string>
#include <vector>

namespace quern::text {
namespace {

constexpr size_t kRead = size_t{16} << 10;

struct Repeated {
  const char* encoding;
  const char* characters;  // frequent ones, as UTF-8
  bool pairs;              // two bytes each, and all others too but ASCII
};
constexpr const char* kSimplified =
    "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年";
constexpr const char* kTraditional =
    "的一是不了在人有我他這個們中來上大為和國地到以說時要就出會可也你對生能而子那得於著下自之年";
constexpr const char* kJapanese = "のにはをたがでてとしれさあいうなるからもすりこきま。、";
constexpr const char* kKorean = "이다는에의을고하가를은로지한기도사어나자리인해그대라시정수일있들";
constexpr const char* kRussian = "оеаинтсрвлкмдпуяыь";
constexpr const char* kGreek = "αοιετσνηυρπκλςάίό";
constexpr const char* kHebrew = "יוהלאמרתבשנםדק";
constexpr const char* kArabic = "اليمنورتبةعدسف";
constexpr const char* kThai = "านรอกเงวมยลดทสตะปบคห่้ีั";
constexpr Repeated kEncodings[] = {{"gb18030", kSimplified, true},   {"big5-hkscs", kTraditional, true},
                                   {"euc-jp", kJapanese, true},      {"cp932", kJapanese, true},
                                   {"uhc", kKorean, true},           {"windows-1251", kRussian, false},
                                   {"koi8-r", kRussian, false},      {"iso-8859-5", kRussian, false},
                                   {"cp866", kRussian, false},       {"windows-1253", kGreek, false},
                                   {"windows-1255", kHebrew, false}, {"windows-1256", kArabic, false},
                                   {"iso-8859-6", kArabic, false},   {"windows-874", kThai, false}};

// The characters as bytes of the encoding: singles by value, pairs by both.
class Marks {
 public:
  explicit Marks(const Repeated& r) : pairs_(r.pairs) {
    const iconv_t c = ::iconv_open(r.encoding, "UTF-8");
    if (c == reinterpret_cast<iconv_t>(-1)) return;
    std::string from = r.characters, to(from.size() * 2, '\0');
    char *in = from.data(), *out = to.data();
    size_t left = from.size(), room = to.size();
    if (::iconv(c, &in, &left, &out, &room) != static_cast<size_t>(-1)) {
      to.resize(to.size() - room);
      const size_t step = pairs_ ? 2 : 1;
      for (size_t i = 0; i + step <= to.size(); i += step) all_.set(unit(to, i));
    }
    ::iconv_close(c);
  }
  // The share of characters beyond ASCII that are marks; 0 where bytes are no pairs.
  double share(std::string_view s) const {
    size_t units = 0, found = 0, wrong = 0;
    for (size_t i = 0; i < s.size();) {
      if (!(s[i] & 0x80)) {
        ++i;
        continue;
      }
      if (pairs_ && (i + 1 == s.size() || static_cast<unsigned char>(s[i + 1]) < 0x40)) {
        wrong += i + 1 < s.size(), ++i;
        continue;
      }
      ++units, found += all_[unit(s, i)];
      i += pairs_ ? 2 : 1;
    }
    constexpr size_t kFew = 4;
    return units < kFew || wrong * 50 > units ? 0 : static_cast<double>(found) / static_cast<double>(units);
  }

 private:
  size_t unit(std::string_view s, size_t i) const {
    const auto byte = [&](size_t k) { return static_cast<size_t>(static_cast<unsigned char>(s[k])); };
    return pairs_ ? byte(i) << 8 | byte(i + 1) : byte(i);
  }
  bool pairs_;
  std::bitset<65536> all_;
};

std::string_view from_first_beyond_ascii(std::string_view s) {
  const auto at = std::ranges::find_if(s, [](char c) { return (c & 0x80) != 0; });
  return s.substr(static_cast<size_t>(at - s.begin()), kRead);
}

// How many bytes beyond ASCII follow one another: one or two in Western texts, words in others.
double mean_run(std::string_view s) {
  size_t bytes = 0, runs = 0;
  for (size_t i = 0; i < s.size(); ++i) {
    const bool high = s[i] & 0x80;
    bytes += high, runs += high && (i == 0 || !(s[i - 1] & 0x80));
  }
  return runs == 0 ? 0 : static_cast<double>(bytes) / static_cast<double>(runs);
}

}  // namespace

std::string_view guess_encoding(std::string_view bytes) {
  // A mark among eight characters beyond ASCII: others than the text's own encoding have next to none. Of single bytes the
  // marks are most of a text.
  constexpr double kOfPairs = 0.12, kOfBytes = 0.45, kShortestRun = 2.5;
  static const std::vector<Marks> marks(std::begin(kEncodings), std::end(kEncodings));
  bytes = from_first_beyond_ascii(bytes);
  if (mean_run(bytes) < kShortestRun) return {};
  std::string_view best;
  double most = 1;
  for (size_t i = 0; i < marks.size(); ++i) {
    const double share = marks[i].share(bytes) / (kEncodings[i].pairs ? kOfPairs : kOfBytes);
    if (share > most) most = share, best = kEncodings[i].encoding;
  }
  return best;
}

bool looks_like_iso_2022_jp(std::string_view bytes) {
  bytes = bytes.substr(0, kRead);
  const size_t in = bytes.find("\x1B$");
  return in != bytes.npos && bytes.size() > in + 2 && (bytes[in + 2] == 'B' || bytes[in + 2] == '@') &&
         bytes.find("\x1B(", in) != bytes.npos;
}

}  // namespace quern::text
