#include "quern/corpus/io/json_line.h"

#include <array>
#include <bit>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "quern/corpus/bytes/ascii.h"

namespace quern::corpus {
namespace {

constexpr int kMaxDepth = 128;

// What a letter behind a backslash stands for; 0: it is 'u', or no escape.
constexpr std::array<char, 256> kEscapes = [] {
  std::array<char, 256> t{};
  t['"'] = '"', t['\\'] = '\\', t['/'] = '/', t['b'] = '\b', t['f'] = '\f', t['n'] = '\n', t['r'] = '\r',
  t['t'] = '\t';
  return t;
}();

#if defined(__SSE2__)
// A bit for each of 16 bytes that may not stand in a string as it is: quote, backslash, control character.
unsigned stops(__m128i x) {
  const __m128i low = _mm_cmpeq_epi8(_mm_min_epu8(x, _mm_set1_epi8(0x1F)), x);
  return static_cast<unsigned>(_mm_movemask_epi8(_mm_or_si128(
      low, _mm_or_si128(_mm_cmpeq_epi8(x, _mm_set1_epi8('"')), _mm_cmpeq_epi8(x, _mm_set1_epi8('\\'))))));
}
#endif

// Bytes before the first of those.
size_t plain_bytes(std::string_view s) {
  size_t i = 0;
#if defined(__SSE2__)
  for (; i + 16 <= s.size(); i += 16)
    if (const unsigned mask = stops(_mm_loadu_si128(reinterpret_cast<const __m128i*>(s.data() + i))))
      return i + static_cast<size_t>(std::countr_zero(mask));
#endif
  while (i < s.size() && s[i] != '"' && s[i] != '\\' && static_cast<unsigned char>(s[i]) >= 0x20) ++i;
  return i;
}

class LineReader {
 public:
  LineReader(std::string_view line, char* scratch)
      : p_(line.data()), end_(line.data() + line.size()), scratch_(scratch) {}

  const char* run(std::span<const std::string> names, std::span<JsonMember> out) {
    for (JsonMember& m : out) m = {};
    space();
    if (p_ == end_ || *p_ != '{') return "expected a JSON object";
    ++p_;
    if (!members(names, out)) return problem_;
    space();
    return p_ == end_ ? nullptr : "more after the JSON object";
  }

 private:
  bool wrong(const char* what) {
    problem_ = what;
    return false;
  }
  void space() {
    while (p_ < end_ && (*p_ == ' ' || *p_ == '\t' || *p_ == '\n' || *p_ == '\r')) ++p_;
  }

  bool members(std::span<const std::string> names, std::span<JsonMember> out) {
    space();
    if (p_ < end_ && *p_ == '}') return ++p_, true;
    while (true) {
      space();
      std::string_view key;
      if (p_ == end_ || *p_ != '"') return wrong("expected a member's name");
      if (!string(&key)) return false;
      space();
      if (p_ == end_ || *p_ != ':') return wrong("expected ':'");
      ++p_;
      space();
      size_t at = 0;
      while (at < names.size() && names[at] != key) ++at;
      if (at < names.size()) {
        if (!wanted(out[at])) return false;
        for (size_t again = at + 1; again < names.size(); ++again)
          if (names[again] == key) out[again] = out[at];
      } else if (!value(1)) {
        return false;
      }
      space();
      if (p_ == end_) return wrong("the line ends inside an object");
      if (*p_ == ',') {
        ++p_;
        continue;
      }
      if (*p_ == '}') return ++p_, true;
      return wrong("expected ',' or '}'");
    }
  }

  bool wanted(JsonMember& m) {
    const char* begin = p_;
    m = {};
    if (p_ < end_ && *p_ == '"') {
      m.kind = JsonMember::Kind::string;
      if (!string(&m.value)) return false;
    } else {
      m.kind = p_ < end_ && (*p_ == '-' || (*p_ >= '0' && *p_ <= '9')) ? JsonMember::Kind::number
                                                                       : JsonMember::Kind::other;
      if (!value(1)) return false;
      m.value = {begin, static_cast<size_t>(p_ - begin)};
    }
    m.raw = {begin, static_cast<size_t>(p_ - begin)};
    return true;
  }

  bool word(std::string_view w) {
    if (static_cast<size_t>(end_ - p_) < w.size() || std::memcmp(p_, w.data(), w.size()) != 0)
      return wrong("expected a JSON value");
    p_ += w.size();
    return true;
  }

  bool value(int depth) {
    if (p_ == end_) return wrong("the line ends where a value is expected");
    switch (*p_) {
      case '"':
        return string(nullptr);
      case '{':
      case '[':
        return depth < kMaxDepth ? nested(depth) : wrong("nested deeper than 128");
      case 't':
        return word("true");
      case 'f':
        return word("false");
      case 'n':
        return word("null");
      default:
        return number();
    }
  }

  bool nested(int depth) {
    const char close = *p_++ == '{' ? '}' : ']';
    space();
    if (p_ < end_ && *p_ == close) return ++p_, true;
    while (true) {
      space();
      if (close == '}') {
        if (p_ == end_ || *p_ != '"') return wrong("expected a member's name");
        if (!string(nullptr)) return false;
        space();
        if (p_ == end_ || *p_ != ':') return wrong("expected ':'");
        ++p_;
        space();
      }
      if (!value(depth + 1)) return false;
      space();
      if (p_ == end_) return wrong("the line ends inside a value");
      if (*p_ == close) return ++p_, true;
      if (*p_ != ',') return wrong("expected ',' or the end of a list or object");
      ++p_;
    }
  }

  bool digits() {
    const char* begin = p_;
    while (p_ < end_ && *p_ >= '0' && *p_ <= '9') ++p_;
    return p_ > begin || wrong("expected a digit");
  }

  bool number() {
    if (*p_ == '-') ++p_;
    if (p_ < end_ && *p_ == '0') {
      ++p_;
    } else if (p_ == end_ || *p_ < '1' || *p_ > '9') {
      return wrong("expected a JSON value");
    } else if (!digits()) {
      return false;
    }
    if (p_ < end_ && *p_ == '.') {
      ++p_;
      if (!digits()) return false;
    }
    if (p_ < end_ && (*p_ == 'e' || *p_ == 'E')) {
      ++p_;
      if (p_ < end_ && (*p_ == '+' || *p_ == '-')) ++p_;
      if (!digits()) return false;
    }
    return true;
  }

  // Bytes up to the next quote, backslash or control character; copied to `to` when that is not null.
  size_t plain(char* to) {
    const char* begin = p_;
#if defined(__SSE2__)
    while (end_ - p_ >= 32) {
      const auto* from = reinterpret_cast<const __m128i*>(p_);
      const __m128i x = _mm_loadu_si128(from), y = _mm_loadu_si128(from + 1);
      if (to) {
        auto* w = reinterpret_cast<__m128i*>(to + (p_ - begin));
        _mm_storeu_si128(w, x), _mm_storeu_si128(w + 1, y);
      }
      if (const unsigned mask = stops(x) | stops(y) << 16) {
        p_ += std::countr_zero(mask);
        return static_cast<size_t>(p_ - begin);
      }
      p_ += 32;
    }
#endif
    for (; p_ < end_ && *p_ != '"' && *p_ != '\\' && static_cast<unsigned char>(*p_) >= 0x20; ++p_)
      if (to) to[p_ - begin] = *p_;
    return static_cast<size_t>(p_ - begin);
  }

  // At the opening quote. `to` null: checked and skipped. A string without escapes is a view of the line.
  bool string(std::string_view* to) {
    const char* begin = ++p_;
    const size_t first = plain(nullptr);
    if (p_ < end_ && *p_ == '"') {
      ++p_;
      if (to) *to = {begin, first};
      return true;
    }
    char* w = nullptr;
    if (!to) return rest_of_string<false>(w);
    std::memcpy(scratch_, begin, first);
    w = scratch_ + first;
    if (!rest_of_string<true>(w)) return false;
    *to = {scratch_, static_cast<size_t>(w - scratch_)};
    scratch_ = w;
    return true;
  }

  // From the first escape on, past the closing quote.
  template <bool kCopied>
  bool rest_of_string(char*& w) {
    while (true) {
      if (p_ == end_) return wrong("the line ends inside a string");
      if (*p_ == '"') return ++p_, true;
      if (*p_ != '\\') return wrong("a control character inside a string");
      if (end_ - p_ < 2) return wrong("the line ends inside an escape");
      const char c = p_[1];
      p_ += 2;
      if (const char simple = kEscapes[static_cast<unsigned char>(c)]) {
        if (kCopied) *w++ = simple;
      } else if (c != 'u') {
        return wrong("an unknown escape in a string");
      } else if (!unicode(w)) {
        return false;
      }
      const size_t n = plain(kCopied ? w : nullptr);
      if (kCopied) w += n;
    }
  }

  bool hex4(char32_t& cp) {
    if (end_ - p_ < 4) return wrong("\\u wants four hexadecimal digits");
    cp = 0;
    for (int i = 0; i < 4; ++i) {
      const int d = hex_digit(*p_++);
      if (d < 0) return wrong("\\u wants four hexadecimal digits");
      cp = cp << 4 | static_cast<char32_t>(d);
    }
    return true;
  }

  bool unicode(char*& w) {
    char32_t cp = 0;
    if (!hex4(cp)) return false;
    if (cp >= 0xDC00 && cp < 0xE000) return wrong("half of a surrogate pair");
    if (cp >= 0xD800 && cp < 0xDC00) {
      char32_t low = 0;
      if (end_ - p_ < 2 || p_[0] != '\\' || p_[1] != 'u') return wrong("half of a surrogate pair");
      p_ += 2;
      if (!hex4(low)) return false;
      if (low < 0xDC00 || low > 0xDFFF) return wrong("half of a surrogate pair");
      cp = 0x10000 + ((cp - 0xD800) << 10) + (low - 0xDC00);
    }
    if (!w) return true;
    auto put = [&](char32_t b) { *w++ = static_cast<char>(b); };
    if (cp < 0x80) {
      put(cp);
    } else if (cp < 0x800) {
      put(0xC0 | cp >> 6), put(0x80 | (cp & 0x3F));
    } else if (cp < 0x10000) {
      put(0xE0 | cp >> 12), put(0x80 | (cp >> 6 & 0x3F)), put(0x80 | (cp & 0x3F));
    } else {
      put(0xF0 | cp >> 18), put(0x80 | (cp >> 12 & 0x3F)), put(0x80 | (cp >> 6 & 0x3F)), put(0x80 | (cp & 0x3F));
    }
    return true;
  }

  const char *p_, *end_;
  char* scratch_;
  const char* problem_ = nullptr;
};

}  // namespace

const char* read_json_line(std::string_view line, std::span<const std::string> names, std::span<JsonMember> out,
                           char* scratch) {
  return LineReader(line, scratch).run(names, out);
}

namespace {

// The value of \uXXXX at `at`; −1: there is no such escape.
int escape_value(std::string_view s, size_t at) {
  if (at + 6 > s.size() || s[at] != '\\' || s[at + 1] != 'u') return -1;
  int v = 0;
  for (size_t i = at + 2; i < at + 6; ++i) {
    const int d = hex_digit(s[i]);
    if (d < 0) return -1;
    v = v << 4 | d;
  }
  return v;
}
constexpr bool is_high(int v) { return v >= 0xD800 && v < 0xDC00; }
constexpr bool is_low(int v) { return v >= 0xDC00 && v < 0xE000; }

}  // namespace

std::string_view member_bytes(std::string_view line, const JsonMember& m) {
  const auto value = static_cast<size_t>(m.raw.data() - line.data());
  const size_t colon = line.rfind(':', value - 1), close = line.rfind('"', colon);
  size_t open = close;
  const auto escaped = [&](size_t at) {
    size_t slashes = 0;
    while (slashes < at && line[at - 1 - slashes] == '\\') ++slashes;
    return slashes % 2 == 1;
  };
  do open = line.rfind('"', open - 1);
  while (escaped(open));
  return line.substr(open, value + m.raw.size() - open);
}

bool mend_json_line(std::string& line) {
  bool changed = false, in_string = false;
  for (size_t i = 0; i < line.size();) {
    if (in_string) {
      const int v = line[i] == '\\' ? escape_value(line, i) : -1;
      if (is_high(v) && is_low(escape_value(line, i + 6))) {
        i += 12;
      } else if (is_high(v) || is_low(v)) {
        line.replace(i, 6, "\\ufffd"), changed = true;
        i += 6;
      } else {
        in_string = line[i] != '"';
        i += line[i] == '\\' ? 2 : 1;
      }
      continue;
    }
    bool found = false;
    for (const std::string_view word : {"NaN", "Infinity", "-Infinity"})
      if (!found && line.compare(i, word.size(), word) == 0) line.replace(i, word.size(), "null"), found = true;
    changed = changed || found;
    in_string = line[i] == '"';
    i += found ? 4 : 1;
  }
  return changed;
}

void append_json_string(std::string& out, std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  out += '"';
  size_t from = 0;
  for (size_t i = plain_bytes(text); i < text.size(); i += 1 + plain_bytes(text.substr(i + 1))) {
    const auto c = static_cast<unsigned char>(text[i]);
    out.append(text, from, i - from);
    from = i + 1;
    out += '\\';
    switch (c) {
      case '"':
      case '\\':
        out += static_cast<char>(c);
        break;
      case '\n':
        out += 'n';
        break;
      case '\t':
        out += 't';
        break;
      case '\r':
        out += 'r';
        break;
      case '\b':
        out += 'b';
        break;
      case '\f':
        out += 'f';
        break;
      default:
        out += "u00";
        out += kHex[c >> 4];
        out += kHex[c & 15];
    }
  }
  out.append(text, from, text.size() - from);
  out += '"';
}

}  // namespace quern::corpus
