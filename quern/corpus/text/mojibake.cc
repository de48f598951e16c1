#include "quern/corpus/text/mojibake.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

#include "quern/corpus/text/byte_encodings.h"
#include "quern/corpus/text/char_class.h"
#include "quern/text/unicode/assigned.h"
#include "quern/text/unicode/unicode.h"
#include "quern/text/unicode/utf8.h"

namespace quern::corpus {

namespace {

struct MojibakeTable {
  static constexpr char32_t kEnd = kMojibakeEnd;
  std::array<std::array<uint8_t, kEnd>, std::size(kByteEncodings)> byte{};  // 0: not in the encoding
  std::array<std::array<uint8_t, kEnd>, 4> at{};  // a bit for each encoding: goes on (0), begins a unit of 2, 3 or 4

  MojibakeTable() {
    for (size_t e = 0; e < byte.size(); ++e) {
      for (size_t i = 0; i < 128; ++i) add(e, kByteEncodings[e].high[i], static_cast<uint8_t>(0x80 + i));
      for (char16_t c = 0x80; c < 0xA0; ++c)  // Latin-1, and decoders that keep what they do not know
        if (e < 2 && byte[e][c] == 0) add(e, c, static_cast<uint8_t>(c));
    }
  }
  void add(size_t e, char16_t c, uint8_t b) {
    if (c >= kEnd) return;
    byte[e][c] = b;
    const auto bit = static_cast<uint8_t>(1u << e);
    if (b < 0xC0) at[0][c] |= b >= 0x80 ? bit : uint8_t{0};
    if (b >= 0xC2 && b < 0xF5) at[b < 0xE0 ? 1 : b < 0xF0 ? 2 : 3][c] |= bit;
  }
};

const MojibakeTable& table() {
  static const MojibakeTable t;
  return t;
}

constexpr size_t kEncodings = std::size(kByteEncodings);
constexpr size_t k1251 = 2, kMacRoman = 3, k437 = 4;  // the others are alike
constexpr int kMaxRounds = 6;                         // of misreadings over one another

constexpr char32_t one(const char32_t (&text)[2]) { return text[0]; }

bool control(char32_t c) { return c >= 0x80 && c < 0xA0; }
bool lower(char32_t c) { return (char_classes()[c] & kCasedChar) != 0 && text::unicode_lower(c) == c; }
bool upper(char32_t c) { return (char_classes()[c] & kCasedChar) != 0 && text::unicode_lower(c) != c; }
bool letter(char32_t c) { return (char_classes()[c] & kCasedChar) != 0 && c != 0xB5 && c != 0x192; }  // µ, ƒ: signs
bool ascii_letter(char32_t c) { return (c | 32) >= 'a' && (c | 32) <= 'z'; }

// Signs that stand directly behind a letter in ordinary text.
bool behind_letters(char32_t c) {
  constexpr char32_t kSigns[] = {0xA0,   0xA9,   0xAA,   0xAD,   0xAE,   0xB0,   0xB2,   0xB3,
                                 0xB4,   0xB7,   0xB9,   0xBA,   0xBB,   0x2013, 0x2014, 0x2018,
                                 0x2019, 0x201C, 0x201D, 0x2022, 0x2026, 0x203A, 0x2122};
  return std::ranges::find(kSigns, c) != std::end(kSigns);
}
// Of those, the ones that another letter may follow.
bool between_letters(char32_t c) {
  return c == 0xA0 || c == 0xAD || c == 0xB4 || c == 0xB7 || (c >= 0x2013 && c <= 0x201D) || c == 0x2026;
}

struct Unit {
  size_t chars = 0;  // 0: there is none
  char32_t decoded = 0;
};

class Line {
 public:
  explicit Line(std::string_view utf8) {
    const uint8_t* endings = mojibake_endings();
    for (size_t i = 0; i < utf8.size();) {
      const text::Utf8Char c = text::utf8_at(utf8, i);
      chars_.push_back(c.cp);
      encodings_ |= c.cp < 0x80 ? space_in_unit(utf8, i) : units_ending(utf8, i, c.cp, endings);
      i += c.len;
    }
  }

  // The line with the runs of units repaired that are to be; false: nothing was.
  bool repair() {
    size_t best = kEncodings;
    uint64_t most = 0;
    for (size_t e = 0; e < kEncodings; ++e) {  // of equals the one that explains the whole line, then the first
      if ((encodings_ >> e & 1) == 0) continue;
      const uint64_t strong = read(e), rank = strong == 0 ? 0 : 2 * strong + all_;
      if (rank > most) most = rank, best = e;
    }
    if (best == kEncodings) return false;
    read(best);
    std::vector<char32_t> out;
    for (size_t i = 0; i < chars_.size();) {
      if (units_[i].chars > 0 && (all_ || repaired_[i])) {
        out.push_back(units_[i].decoded);
        i += units_[i].chars;
      } else {
        out.push_back(chars_[i++]);
      }
    }
    chars_ = std::move(out);
    encodings_ = 0xFF;  // what was under it may be in any
    return true;
  }
  void append_to(std::string& out) const {
    for (const char32_t c : chars_) text::utf8_append(out, c);
  }

 private:
  bool holds(size_t i) const { return chars_.size() > i; }
  char32_t at(size_t i) const { return holds(i) ? chars_[i] : one(U" "); }
  char32_t before(size_t i) const { return i == 0 ? one(U" ") : at(i - 1); }
  uint8_t byte(size_t e, size_t i) const {
    const char32_t c = at(i);
    return c >= MojibakeTable::kEnd ? uint8_t{0} : table().byte[e][c];
  }

  Unit unit(size_t e, size_t i) const {
    const uint8_t b = byte(e, i);
    const size_t n = b < 0xC2 ? 0 : b < 0xE0 ? 2 : b < 0xF0 ? 3 : b <= 0xF4 ? 4 : 0;
    if (n == 0 || i + n > chars_.size()) return {};
    std::string bytes(1, static_cast<char>(b));
    for (size_t k = 1; k < n; ++k) {
      if ((byte(e, i + k) & 0xC0) != 0x80) return {};
      bytes += static_cast<char>(byte(e, i + k));
    }
    if (text::utf8_error(bytes) != bytes.npos) return {};
    const char32_t c = text::utf8_at(bytes, 0).cp;
    if (!text::unicode_is_assigned(c)) return {};
    return {n, c};
  }

  // à whose second byte became a space, and a no-break space of which that byte is a space or left out.
  Unit with_space(size_t e, size_t i) const {
    if (e != 0 || at(i + 1) != one(U" ")) return {};
    const char32_t p = before(i);
    if (at(i) == 0xC3 && (lower(p) || (p == one(U" ") && lower(before(i - 1))))) return {1, 0xE0};
    if (at(i) == 0xC2 && (lower(p) || p == one(U".") || p == one(U",") || p == one(U"!") || p == one(U"?")))
      return {2, one(U" ")};
    return {};
  }

  bool strong(size_t e, size_t i, Unit u) const {
    const char32_t lead = at(i), p = before(i), next = at(i + u.chars);
    bool odd = false, letters = false, case_breaks = false;
    char32_t last = lead;
    for (size_t k = 1; k < u.chars; ++k) {
      const char32_t c = at(i + k);
      if (control(c)) return true;
      odd = odd || (!letter(c) && !behind_letters(c));
      letters = letters || letter(c);
      case_breaks = case_breaks || (lower(last) && upper(c));
      last = c;
    }
    if (e == k437) {
      if (lead == one(U"Γ")) return at(i + 1) == one(U"Ç") || at(i + 1) == one(U"å") || at(i + 1) == one(U"é");
      const bool line = lead == one(U"├") || lead == one(U"┬") || lead == one(U"┼") || lead == one(U"─");
      return line && (ascii_letter(p) || ascii_letter(next));
    }
    if (e == kMacRoman) {
      if (lead == one(U"√")) return letter(p) || letter(at(i + 1)) || at(i + 1) == 0xA9 || at(i + 1) == 0xAE;
      if (lead == one(U"‚"))
        return u.chars == 3 && (at(i + 1) == one(U"Ä") || at(i + 1) == one(U"Ç") || at(i + 1) == one(U"Ü"));
      if (lead == one(U"≈") || lead == one(U"ƒ")) return ascii_letter(p) && ascii_letter(next);
      return lead == one(U"¬") && !letters;
    }
    if (lead == one(U"×") || lead == one(U"ß") || lead == one(U"Ø")) return false;  // 3×², Spaß“, Ø½
    if (e == k1251)
      return (letter(u.decoded) && (ascii_letter(p) || ascii_letter(next))) || (u.chars == 3 && case_breaks);
    if (odd || case_breaks) return true;
    if (letters) return u.chars == 2 && lower(p) && upper(lead) && upper(last) && lower(next);
    if (u.chars > 2) return letter(next) && !between_letters(last);
    if (upper(lead) && lower(p)) return true;
    if ((lead == one(U"Â") || lead == one(U"Ã") || lead == one(U"Ð")) && !letter(p)) return true;
    return upper(lead) && lower(next) && !between_letters(last);
  }

  // Whether units that are not strong are so together: many of them, with changes of case inside, or between dashes.
  bool strong_together(size_t e, size_t from, size_t to, size_t count) const {
    if (count < 2) return false;
    size_t breaks = 0, odd = 0;
    for (size_t i = from; i < to; ++i) {
      odd += !letter(chars_[i]) && !behind_letters(chars_[i]);
      if (i > from) breaks += lower(chars_[i - 1]) && upper(chars_[i]);
    }
    if (e == k1251) return odd > 0 || (count > 2 && breaks > 0);
    if (e == kMacRoman || e == k437) return count > 2;
    return true;
  }

  // All units of the encoding, and which of them are to be repaired. Returns the number of those.
  uint64_t read(size_t e) {
    units_.assign(chars_.size(), {});
    repaired_.assign(chars_.size(), false);
    all_ = true;
    uint64_t sum = 0;
    for (size_t i = 0; i < chars_.size();) {
      size_t end = i, count = 0;
      bool is_strong = false;
      while (end < chars_.size()) {
        Unit u = unit(e, end);
        const bool spaced = u.chars == 0;
        if (spaced) u = with_space(e, end);
        if (u.chars == 0) break;
        units_[end] = u;
        is_strong = is_strong || spaced || strong(e, end, u);
        end += u.chars, ++count;
      }
      if (count == 0) {
        all_ = all_ && chars_[i] < 0x80;
        ++i;
        continue;
      }
      if (is_strong || strong_together(e, i, end, count)) {
        for (size_t k = i; k < end; ++k) repaired_[k] = true;
        sum += count;
      }
      i = end;
    }
    return sum;
  }

  std::vector<char32_t> chars_;
  std::vector<Unit> units_;
  std::vector<bool> repaired_;
  bool all_ = false;
  unsigned encodings_ = 0;  // in which there are units, a bit for each
};

}  // namespace

const uint8_t* mojibake_endings() { return table().at[0].data(); }

uint8_t units_ending(std::string_view s, size_t at, uint8_t endings) {
  const MojibakeTable& t = table();
  uint8_t found = 0;
  for (size_t n = 1; n < 4 && at > 0 && endings != 0; ++n) {
    const text::Utf8Char c = text::utf8_before(s, at);
    if (c.cp >= MojibakeTable::kEnd) break;
    found |= static_cast<uint8_t>(endings & t.at[n][c.cp]);
    endings &= t.at[0][c.cp];
    at -= c.len;
  }
  return found;
}

size_t find_mojibake(std::string_view s, size_t from) {
  const uint8_t* endings = mojibake_endings();
  for (size_t i = from; i < s.size();) {
    if (static_cast<unsigned char>(s[i]) < 0x80) {
      if (space_in_unit(s, i)) return i;
      i += text::ascii_run(s, i);
      continue;
    }
    const text::Utf8Char c = text::utf8_at(s, i);
    if (units_ending(s, i, c.cp, endings) != 0) return i;
    i += c.len;
  }
  return s.npos;
}

bool repair_mojibake(std::string_view s, std::string& out) {
  out.clear();
  size_t copied = 0;
  for (size_t at = find_mojibake(s); at < s.size(); at = find_mojibake(s, copied)) {
    const size_t before = s.substr(0, at).rfind('\n');
    const size_t begin = std::max(before == s.npos ? 0 : before + 1, copied),
                 end = std::min(s.find('\n', at), s.size());
    out += s.substr(copied, begin - copied);
    Line line(s.substr(begin, end - begin));
    bool repaired = false;
    for (int round = 0; round < kMaxRounds && line.repair(); ++round) repaired = true;
    if (repaired)
      line.append_to(out);
    else
      out += s.substr(begin, end - begin);
    copied = end;
  }
  if (copied == 0) return false;
  out += s.substr(copied);
  return out != s;
}

}  // namespace quern::corpus
