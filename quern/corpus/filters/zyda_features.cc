#include "quern/corpus/filters/zyda_features.h"

#include <bit>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "quern/base/cpu.h"
#include "quern/corpus/text/char_class.h"
#include "quern/text/unicode/utf8.h"

namespace quern::corpus {
namespace {

constexpr size_t kRun = 7;

// Shortest run that is squeezed to one; 0: this character is left alone.
size_t squeezed_from(char32_t c) {
  switch (c) {
    case '-':
    case '_':
    case '/':
    case '\\':
    case '\n':
    case '\r':
    case '.':
    case ',':
    case ':':
    case '?':
    case 0xA0:
      return 10;
    case '\t':
      return 20;
    case ' ':
      return 40;
    default:
      return 0;
  }
}

// Where the next run of kRun and more of one ASCII character may begin, or stands a character beyond ASCII, or where
// there is too little left to look: from s[i] on.
size_t skip_to_run(std::string_view s, size_t i) {
#if defined(__SSE2__)
  for (; i + 16 + kRun <= s.size(); i += 16) {
    const auto load = [&](size_t k) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(s.data() + i + k)); };
    const __m128i x = load(0);
    const __m128i same = _mm_and_si128(_mm_and_si128(_mm_cmpeq_epi8(x, load(1)), _mm_cmpeq_epi8(x, load(3))),
                                       _mm_cmpeq_epi8(x, load(kRun - 1)));
    if (const auto mask = static_cast<unsigned>(_mm_movemask_epi8(_mm_or_si128(same, x))))
      return i + static_cast<size_t>(std::countr_zero(mask));
  }
#endif
  return i;
}

// f(first byte, character, how many) for every maximal run of kRun and more of one character.
template <class F>
void for_each_run(std::string_view s, F&& f) {
  for (size_t i = skip_to_run(s, 0); i < s.size(); i = skip_to_run(s, i)) {
    size_t n = 1;
    if (static_cast<unsigned char>(s[i]) < 0x80) {
      while (i + n < s.size() && s[i + n] == s[i]) ++n;
      if (n >= kRun) f(i, text::Utf8Char{static_cast<char32_t>(s[i]), 1}, n);
      i += n;
      continue;
    }
    const text::Utf8Char c = text::utf8_at(s, i);
    while (i + (n + 1) * c.len <= s.size() && s.compare(i + n * c.len, c.len, s, i, c.len) == 0) ++n;
    if (n >= kRun) f(i, c, n);
    i += n * c.len;
  }
}

// Whether the character at s[i] stands again `places` characters on, as it must in a run.
bool again(std::string_view s, size_t i, size_t len, size_t places) {
  const size_t at = i + places * len;
  if (at + len > s.size() || s[at] != s[i]) return false;
  return len == 1 || s.compare(at, len, s, i, len) == 0;
}

}  // namespace

bool squeeze_zyda(std::string_view s, std::string& out, uint64_t& dropped) {
  dropped = 0;
  out.clear();
  size_t from = 0;
  for_each_run(s, [&](size_t at, text::Utf8Char c, size_t n) {
    const size_t minimum = n < 10 ? 0 : squeezed_from(c.cp);
    if (minimum == 0 || n < minimum) return;
    out.append(s, from, at + c.len - from);
    from = at + n * c.len;
    dropped += n - 1;
  });
  if (dropped == 0) return false;
  out.append(s, from, s.size() - from);
  return true;
}

uint64_t count_runs(std::string_view s) {
  const uint8_t* cls = char_classes();
  uint64_t runs = 0;
  for_each_run(s, [&](size_t, text::Utf8Char c, size_t) { runs += (cls[c.cp] & kWordChar) != 0; });
  return runs;
}

RunHints count_zyda(std::string_view s, ZydaFeatures& f) {
  return active_isa() == Isa::ref ? zyda::count_ref(s, f) : zyda::count_avx2(s, f);
}

std::string_view zyda_features(std::string_view s, std::string& squeezed, ZydaFeatures& f) {
  f = {};
  const RunHints hints = count_zyda(s, f);
  uint64_t dropped = 0;
  if (hints.squeeze && squeeze_zyda(s, squeezed, dropped)) s = squeezed;
  f.length = f.chars - dropped;
  if (hints.runs) f.runs = count_runs(s);
  return s;
}

namespace zyda {
namespace {

uint64_t count_of(std::string_view s, std::string_view what) {
  uint64_t n = 0;
  for (size_t at = 0; (at = s.find(what, at)) != s.npos; at += what.size()) ++n;
  return n;
}

}  // namespace

void count_classes(std::string_view s, size_t from, size_t to, ZydaFeatures& f, RunHints& hints) {
  const uint8_t* cls = char_classes();
  for (size_t i = from; i < to;) {
    if ((static_cast<unsigned char>(s[i]) & 0xC0) == 0x80) {  // the rest of a character that started earlier
      ++i;
      continue;
    }
    const text::Utf8Char c = text::utf8_at(s, i);
    const uint8_t k = cls[c.cp];
    ++f.chars;
    f.separators += (k & kSpaceChar) || c.cp == '-' || c.cp == '/' || c.cp == '\\' || c.cp == '.';
    f.symbols += !(k & (kWordChar | kSpaceChar));
    f.digits += (k & kDigitChar) != 0;
    if (again(s, i, c.len, 1) && again(s, i, c.len, 3) && again(s, i, c.len, 6)) {
      hints.runs = hints.runs || (k & kWordChar);
      hints.squeeze = hints.squeeze || (squeezed_from(c.cp) > 0 && again(s, i, c.len, 9) &&
                                        again(s, i, c.len, squeezed_from(c.cp) - 1));
    }
    i += c.len;
  }
}

RunHints count_ref(std::string_view s, ZydaFeatures& f) {
  RunHints hints{false, false};
  count_classes(s, 0, s.size(), f, hints);
  f.xml = count_of(s, "xml");
  f.xml_version = count_of(s, "xml version=");
  f.lorem_ipsum = count_of(s, "lorem ipsum");
  f.https = count_of(s, "https://");
  f.less = count_of(s, "<");
  f.greater = count_of(s, ">");
  f.quote_colon = count_of(s, "\":");
  for (size_t at = 0; (at = s.find("www", at)) != s.npos;) {
    if (at + 3 == s.size()) break;
    if (s[at + 3] == '\n') {
      ++at;
    } else {
      ++f.www;
      at += 3 + text::utf8_at(s, at + 3).len;
    }
  }
  return hints;
}

}  // namespace zyda
}  // namespace quern::corpus
