#include "quern/corpus/text/text_normalizer.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "quern/base/error.h"
#include "quern/corpus/bytes/ascii.h"
#include "quern/corpus/text/ascii_words.h"
#include "quern/corpus/text/char_class.h"
#include "quern/corpus/text/fix_text.h"
#include "quern/text/unicode/unicode.h"
#include "quern/text/unicode/utf8.h"

namespace quern::corpus {
namespace {

constexpr size_t kPadding = 16;

// Whether the character before s[at] and the one from s[end] on make no word with what is between.
bool cased_before(std::string_view s, size_t at) {
  const uint8_t* cls = char_classes();
  while (at > 0) {
    const text::Utf8Char c = text::utf8_before(s, at);
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
    const text::Utf8Char c = text::utf8_at(s, at);
    if (cls[c.cp] & kCasedChar) return true;
    if (cls[c.cp] & (kWordChar | kSpaceChar)) return false;
    if (c.cp < 0x80 && c.cp != '\'' && c.cp != '.' && c.cp != ':' && c.cp != '^' && c.cp != '`') return false;
    at += c.len;
  }
  return false;
}

char32_t lower_one(std::string_view s, size_t at, text::Utf8Char c) {
  if (c.cp == 0x3A3)
    return cased_before(s, at) && !cased_after(s, at + c.len) ? 0x3C2 : 0x3C3;  // a word's last sigma
  return text::unicode_lower(c.cp);
}

bool stands_alone(char32_t c) {
  return c == 0xAB || c == 0xBB || c == 0x2018 || c == 0x2019 || (c >= 0x201C && c <= 0x201E);
}

class WordWriter {
 public:
  WordWriter(Tokens& t, size_t room) : t_(t) {
    t.gap = 1;
    t.text.resize(room + 64);
    t.begin.resize(room / 2 + 2);
    w_.out = t.text.data();
    w_.begin = t.begin.data();
  }
  void ascii(std::string_view piece) { ascii_words(piece.data(), piece.size(), w_); }
  void ascii(unsigned char c) { ascii_word_step(c, w_); }
  void space() { ascii(' '); }
  void wide(std::string_view bytes) {
    w_.begin[w_.tokens] = static_cast<uint32_t>(w_.n);
    w_.tokens += w_.between;
    w_.between = 0;
    if (wide_.empty() || wide_.back() + 1 != w_.tokens) wide_.push_back(static_cast<uint32_t>(w_.tokens - 1));
    std::memcpy(w_.out + w_.n, bytes.data(), bytes.size());
    w_.n += bytes.size();
  }
  void finish() {
    if (w_.n > 0 && w_.between) --w_.n;  // the space behind the last token
    t_.begin.resize(w_.tokens + 1);
    t_.begin[w_.tokens] = static_cast<uint32_t>(w_.n + 1);
    if (w_.tokens == 0) t_.begin.clear();
    t_.text.resize(w_.n + kPadding);
    std::memset(t_.text.data() + w_.n, 0, kPadding);
  }
  std::vector<uint32_t> take_wide() { return std::move(wide_); }  // tokens with characters beyond ASCII, ascending

 private:
  Tokens& t_;
  WordState w_;
  std::vector<uint32_t> wide_;
};

// Lower-casing grows a character by at most half (U+0130: 2 to 3 bytes); a quote that stands alone by two spaces.
size_t room_for(std::string_view s) { return s.size() + s.size() / 2 + s.size() / 2 + 64; }

std::vector<uint32_t> split_words(std::string_view s, bool alone, Tokens& t) {
  const bool ascii = is_ascii(s);
  WordWriter w(t, ascii ? s.size() + 2 : room_for(s));
  if (ascii) {
    w.ascii(s);
    w.finish();
    return {};
  }
  const uint8_t* cls = char_classes();
  std::string one;
  for (size_t i = 0; i < s.size();) {
    const auto b = static_cast<unsigned char>(s[i]);
    if (b < 0x80) {
      const size_t run = text::ascii_run(s, i);
      w.ascii(s.substr(i, run));
      i += run;
      continue;
    }
    const text::Utf8Char c = text::utf8_at(s, i);
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
        text::utf8_append(one, low);
        w.wide(one);
      }
    }
    i += c.len;
  }
  w.finish();
  return w.take_wide();
}

struct Contraction {
  std::string_view word;
  size_t cut;
};
constexpr Contraction kContractions[] = {{"cannot", 3}, {"gimme", 3}, {"gonna", 3},
                                         {"gotta", 3},  {"lemme", 3}, {"wanna", 3}};
// Bit b: a contraction begins with the letter whose lower five bits are b.
constexpr uint32_t kFirstLetters = [] {
  uint32_t bits = 0;
  for (const Contraction& c : kContractions) bits |= 1u << (c.word[0] & 31);
  return bits;
}();

bool word_at(std::string_view s, size_t i) { return char_classes()[text::utf8_at(s, i).cp] & kWordChar; }

// Where a contraction in this token is to be cut, in order. `last` char of wanna must be the token's last: white
// space follows it there.
void cuts_of(std::string_view token, std::vector<size_t>& cuts) {
  for (const Contraction& c : kContractions) {
    for (size_t at = 0; (at = token.find(c.word, at)) != token.npos; at += c.word.size()) {
      const size_t end = at + c.word.size();
      if (at > 0 && (char_classes()[text::utf8_before(token, at).cp] & kWordChar)) continue;
      if (end < token.size() && (c.word == "wanna" || word_at(token, end))) continue;
      if (at > 0) cuts.push_back(at);
      cuts.push_back(at + c.cut);
      if (end < token.size()) cuts.push_back(end);
    }
  }
}

// One word in four is five or six letters long, one in forty begins with one of those letters too: the only branch.
bool is_contraction(const char* p, size_t n) {
  const bool length = n - 5 <= 1, letter = kFirstLetters >> (*p & 31) & 1;
  if (!(length & letter)) return false;
  for (const Contraction& c : kContractions)
    if (n == c.word.size() && std::memcmp(p, c.word.data(), n) == 0) return true;
  return false;
}

bool has_contractions(const Tokens& t) {
  for (size_t i = 0, n = t.size(); i < n; ++i)
    if (is_contraction(t.text.data() + t.begin[i], t.begin[i + 1] - t.begin[i] - 1)) return true;
  return false;
}

// Tokens of pure ASCII words are contractions or are not; others may hold one between characters that are no letters.
void cut_contractions(Tokens& t, const std::vector<uint32_t>& wide) {
  std::vector<size_t> cuts;
  bool any = has_contractions(t);
  for (size_t k = 0; k < wide.size() && !any; ++k) {
    if (t[wide[k]].size() > 6) cuts_of(t[wide[k]], cuts);
    any = !cuts.empty();
  }
  if (!any) return;
  std::string text;
  std::vector<uint32_t> begin;
  size_t next = 0;  // of wide
  text.reserve(t.text.size() + 64);
  auto add = [&](std::string_view w) {
    begin.push_back(static_cast<uint32_t>(text.size()));
    text += w;
    text += ' ';
  };
  for (size_t i = 0; i < t.size(); ++i) {
    const std::string_view w = t[i];
    cuts.clear();
    const bool odd = next < wide.size() && wide[next] == i;
    next += odd;
    if (odd || is_contraction(w.data(), w.size())) cuts_of(w, cuts);
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

// Of the characters beyond ASCII that datatrove has for punctuation.
bool datatrove_punctuation(char32_t c) {
  static constexpr char32_t kSigns[] = {0xAB,   0xB4,   0xBB,   0x2013, 0x2014, 0x2019, 0x201C, 0x201D, 0x201E,
                                        0x2026, 0x2236, 0x2501, 0x25BA, 0x3001, 0x3002, 0x3008, 0x3009, 0x300A,
                                        0x300B, 0x300C, 0x300D, 0x3010, 0x3011, 0xFF01, 0xFF05, 0xFF08, 0xFF09,
                                        0xFF0C, 0xFF0E, 0xFF1A, 0xFF1B, 0xFF1F, 0xFF5E};
  return (c >= 0x7F && c < 0xA0) || std::binary_search(std::begin(kSigns), std::end(kSigns), c);
}

// Where the number that begins at s[i] ends: digits of any script, with at most one separator and digits behind it.
size_t number_end(std::string_view s, size_t i) {
  const uint8_t* cls = char_classes();
  const auto digits = [&](size_t at) {
    while (at < s.size()) {
      const text::Utf8Char c = text::utf8_at(s, at);
      if (!(cls[c.cp] & kDigitChar)) break;
      at += c.len;
    }
    return at;
  };
  i = digits(i);
  if (i == s.size()) return i;
  static constexpr char32_t kSeparators[] = {'.', ',', 0x60C, 0x66B, 0x2396, 0x2397, 0x2398};
  const text::Utf8Char c = text::utf8_at(s, i);
  if (std::ranges::find(kSeparators, c.cp) == std::end(kSeparators)) return i;
  const size_t end = digits(i + c.len);
  return end == i + c.len ? i : end;
}

void without_marks(std::string& text) {
  text::unicode_normalize(text, text::NormalForm::nfd);
  size_t n = 0;
  for (size_t i = 0; i < text.size();) {
    const text::Utf8Char c = text::utf8_at(text, i);
    if (c.cp < 0x80 || !text::unicode_is_nonspacing(c.cp))
      for (size_t k = 0; k < c.len; ++k) text[n++] = text[i + k];
    i += c.len;
  }
  text.resize(n);
}

void datatrove_words(std::string_view s, Tokens& t, std::string& plain) {
  const uint8_t* cls = char_classes();
  bool ascii = true;
  plain.clear();
  for (size_t i = 0; i < s.size();) {
    const text::Utf8Char c = text::utf8_at(s, i);
    if (cls[c.cp] & kDigitChar) {
      plain += '0';
      i = number_end(s, i);
      continue;
    }
    if (c.cp < 0x80) {
      const auto low = static_cast<char>(c.cp | 0x20);
      plain += low >= 'a' && low <= 'z' ? low : ' ';
    } else if ((cls[c.cp] & kSpaceChar) || datatrove_punctuation(c.cp)) {
      plain += ' ';
    } else {
      ascii = false;
      if (c.cp == 0x130)
        plain += 'i';  // with a mark, which goes anyway
      else
        text::utf8_append(plain, lower_one(s, i, c));
    }
    i += c.len;
  }
  if (!ascii) without_marks(plain);
  t.gap = 1;
  t.text.clear(), t.begin.clear();
  for (size_t i = 0; i < plain.size();) {
    const size_t end = std::min(plain.find(' ', i), plain.size());
    if (end > i) {
      t.begin.push_back(static_cast<uint32_t>(t.text.size()));
      t.text.append(plain, i, end - i) += ' ';
    }
    i = end + 1;
  }
  if (!t.begin.empty()) t.begin.push_back(static_cast<uint32_t>(t.text.size())), t.text.pop_back();
  t.text.append(kPadding, '\0');
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

void normalize(TextNormalizer kind, std::string_view utf8, Tokens& out, std::string& scratch) {
  QUERN_CHECK(utf8.size() < (size_t{1} << 31), "{} bytes", utf8.size());
  switch (kind) {
    case TextNormalizer::raw:
      code_points(utf8, out);
      return;
    case TextNormalizer::datatrove:
      datatrove_words(utf8, out, scratch);
      return;
    case TextNormalizer::slimpajama:
      split_words(utf8, false, out);
      return;
    case TextNormalizer::zyda1:
      break;
  }
  std::string_view s = utf8;
  if (find_to_fix(s) != s.npos) {
    fix_text(s, scratch);
    s = scratch;
  }
  cut_contractions(out, split_words(s, true, out));
}

}  // namespace quern::corpus
