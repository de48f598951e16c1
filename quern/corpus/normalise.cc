#include "quern/corpus/normalise.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "quern/base/error.h"
#include "quern/corpus/ascii.h"
#include "quern/corpus/char_class.h"
#include "quern/corpus/mend_text.h"
#include "quern/text/unicode.h"
#include "quern/text/utf8.h"

namespace quern::corpus {
namespace {

constexpr size_t kPadding = 16;

struct AsciiTables {
  std::array<unsigned char, 128> lower{}, keep{}, space{};
};
constexpr AsciiTables kAscii = [] {
  AsciiTables t;
  for (unsigned c = 0; c < 128; ++c) {
    const bool space = (c >= 9 && c <= 13) || (c >= 0x1C && c <= 0x20);
    const bool punct = (c > 32 && c < 48) || (c > 57 && c < 65) || (c > 90 && c < 97) || (c > 122 && c < 127);
    t.lower[c] = static_cast<unsigned char>(space ? ' ' : c >= 'A' && c <= 'Z' ? c + 32 : c);
    t.space[c] = space;
    t.keep[c] = !space && !punct;
  }
  return t;
}();

// Whether the character before s[at] and the one from s[end] on make no word with what is between.
bool cased_before(std::string_view s, size_t at) {
  const uint8_t* cls = char_classes();
  while (at > 0) {
    const Utf8Char c = utf8_before(s, at);
    if (cls[c.cp] & kCasedChar) return true;
    if (cls[c.cp] & (kWordChar | kSpaceChar)) return false;
    if (c.cp < 0x80 && c.cp != '\'' && c.cp != '.' && c.cp != ':' && c.cp != '^' && c.cp != '`') return false;
    at -= c.len;
  }
  return false;
}
bool cased_after(std::string_view s, size_t at) {
  const uint8_t* cls = char_classes();
  while (at < s.size()) {
    const Utf8Char c = utf8_at(s, at);
    if (cls[c.cp] & kCasedChar) return true;
    if (cls[c.cp] & (kWordChar | kSpaceChar)) return false;
    if (c.cp < 0x80 && c.cp != '\'' && c.cp != '.' && c.cp != ':' && c.cp != '^' && c.cp != '`') return false;
    at += c.len;
  }
  return false;
}

char32_t lower_one(std::string_view s, size_t at, Utf8Char c) {
  if (c.cp == 0x3A3)
    return cased_before(s, at) && !cased_after(s, at + c.len) ? 0x3C2 : 0x3C3;  // a word's last sigma
  return unicode_lower(c.cp);
}

bool stands_alone(char32_t c) {
  return c == 0xAB || c == 0xBB || c == 0x2018 || c == 0x2019 || (c >= 0x201C && c <= 0x201E);
}

class WordWriter {
 public:
  WordWriter(Tokens& t, size_t room) : t_(t) {
    t.gap = 1;
    t.text.resize(room + kPadding);
    t.begin.resize(room / 2 + 2);
    out_ = t.text.data();
    begin_ = t.begin.data();
  }
  void ascii(unsigned char c) {
    const unsigned keep = kAscii.keep[c], space = kAscii.space[c];
    out_[n_] = static_cast<char>(kAscii.lower[c]);
    begin_[tokens_] = static_cast<uint32_t>(n_);
    tokens_ += keep & between_;
    n_ += keep | (space & (between_ ^ 1u));
    between_ = space | (between_ & (keep ^ 1u));
  }
  void space() { ascii(' '); }
  void wide(std::string_view bytes) {
    begin_[tokens_] = static_cast<uint32_t>(n_);
    tokens_ += between_;
    between_ = 0;
    std::memcpy(out_ + n_, bytes.data(), bytes.size());
    n_ += bytes.size();
  }
  void finish() {
    if (n_ > 0 && between_) --n_;  // the space behind the last token
    t_.begin.resize(tokens_ + 1);
    t_.begin[tokens_] = static_cast<uint32_t>(n_ + 1);
    if (tokens_ == 0) t_.begin.clear();
    t_.text.resize(n_ + kPadding);
    std::memset(t_.text.data() + n_, 0, kPadding);
  }

 private:
  Tokens& t_;
  char* out_;
  uint32_t* begin_;
  size_t n_ = 0, tokens_ = 0;
  unsigned between_ = 1;
};

// Lower-casing grows a character by at most half (U+0130: 2 to 3 bytes); a quote that stands alone by two spaces.
size_t room_for(std::string_view s) { return s.size() + s.size() / 2 + s.size() / 2 + 64; }

bool split_words(std::string_view s, bool alone, Tokens& t) {
  const bool ascii = is_ascii(s);
  WordWriter w(t, ascii ? s.size() + 2 : room_for(s));
  if (ascii) {
    for (char c : s) w.ascii(static_cast<unsigned char>(c));
    w.finish();
    return true;
  }
  const uint8_t* cls = char_classes();
  std::string one;
  for (size_t i = 0; i < s.size();) {
    const auto b = static_cast<unsigned char>(s[i]);
    if (b < 0x80) {
      w.ascii(b);
      ++i;
      continue;
    }
    const Utf8Char c = utf8_at(s, i);
    if (cls[c.cp] & kSpaceChar) {
      w.space();
    } else if (alone && stands_alone(c.cp)) {
      w.space();
      w.wide(s.substr(i, c.len));
      w.space();
    } else if (c.cp == 0x130) {
      w.wide("i\xCC\x87");
    } else {
      const char32_t low = lower_one(s, i, c);
      if (low == c.cp) {
        w.wide(s.substr(i, c.len));
      } else if (low < 0x80) {
        w.ascii(static_cast<unsigned char>(low));
      } else {
        one.clear();
        utf8_append(one, low);
        w.wide(one);
      }
    }
    i += c.len;
  }
  w.finish();
  return false;
}

struct Contraction {
  std::string_view word;
  size_t cut;
};
constexpr Contraction kContractions[] = {{"cannot", 3}, {"gimme", 3}, {"gonna", 3},
                                         {"gotta", 3},  {"lemme", 3}, {"wanna", 3}};

bool word_at(std::string_view s, size_t i) { return char_classes()[utf8_at(s, i).cp] & kWordChar; }

// Where a contraction in this token is to be cut, in order. `last` char of wanna must be the token's last: white
// space follows it there.
void cuts_of(std::string_view token, std::vector<size_t>& cuts) {
  for (const Contraction& c : kContractions) {
    for (size_t at = 0; (at = token.find(c.word, at)) != token.npos; at += c.word.size()) {
      const size_t end = at + c.word.size();
      if (at > 0 && (char_classes()[utf8_before(token, at).cp] & kWordChar)) continue;
      if (end < token.size() && (c.word == "wanna" || word_at(token, end))) continue;
      if (at > 0) cuts.push_back(at);
      cuts.push_back(at + c.cut);
      if (end < token.size()) cuts.push_back(end);
    }
  }
}

bool is_contraction(const char* p, size_t n) {
  if (n != 5 && n != 6) return false;
  if (p[0] != 'c' && p[0] != 'g' && p[0] != 'l' && p[0] != 'w') return false;
  for (const Contraction& c : kContractions)
    if (n == c.word.size() && std::memcmp(p, c.word.data(), n) == 0) return true;
  return false;
}

// Tokens of pure ASCII words are contractions or are not; others may hold one between characters that are no letters.
void cut_contractions(Tokens& t, bool ascii) {
  bool any = false;
  for (size_t i = 0; i < t.size() && !any; ++i) {
    const std::string_view w = t[i];
    any = is_contraction(w.data(), w.size()) || (!ascii && w.size() > 6 && ascii_run(w, 0) < w.size());
  }
  if (!any) return;
  std::string text;
  std::vector<uint32_t> begin;
  std::vector<size_t> cuts;
  text.reserve(t.text.size() + 64);
  auto add = [&](std::string_view w) {
    begin.push_back(static_cast<uint32_t>(text.size()));
    text += w;
    text += ' ';
  };
  for (size_t i = 0; i < t.size(); ++i) {
    const std::string_view w = t[i];
    cuts.clear();
    if (is_contraction(w.data(), w.size()) || (!ascii && ascii_run(w, 0) < w.size())) cuts_of(w, cuts);
    std::sort(cuts.begin(), cuts.end());
    size_t from = 0;
    for (size_t c : cuts) {
      if (c > from) add(w.substr(from, c - from));
      from = c;
    }
    add(w.substr(from));
  }
  begin.push_back(static_cast<uint32_t>(text.size()));
  if (!text.empty()) text.pop_back();
  text.append(kPadding, '\0');
  t.text = std::move(text);
  t.begin = std::move(begin);
}

void code_points(std::string_view s, Tokens& t) {
  t.gap = 0;
  t.text.assign(s);
  t.text.append(kPadding, '\0');
  t.begin.resize(s.size() + 1);
  size_t n = 0;
  for (size_t i = 0; i < s.size(); ++i) {
    t.begin[n] = static_cast<uint32_t>(i);
    n += (static_cast<unsigned char>(s[i]) & 0xC0) != 0x80;
  }
  t.begin[n] = static_cast<uint32_t>(s.size());
  t.begin.resize(n == 0 ? 0 : n + 1);
}

}  // namespace

void normalise(Normaliser kind, std::string_view utf8, Tokens& out, std::string& scratch) {
  QUERN_CHECK(utf8.size() < (size_t{1} << 31), "{} bytes", utf8.size());
  switch (kind) {
    case Normaliser::raw:
      code_points(utf8, out);
      return;
    case Normaliser::slimpajama:
      split_words(utf8, false, out);
      return;
    case Normaliser::zyda1:
      break;
  }
  std::string_view s = utf8;
  if (needs_mending(s)) {
    mend_text(s, scratch);
    s = scratch;
  }
  cut_contractions(out, split_words(s, true, out));
}

}  // namespace quern::corpus
