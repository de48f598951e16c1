// Zyda's features, 32 bytes at a time. A mask has one bit per byte; patterns are located by their first letters and
// compared in full only there. Runs are detected by comparing the text with itself some bytes further on.
#include <immintrin.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "quern/corpus/filters/zyda_features.h"

namespace quern::corpus::zyda {
namespace {

constexpr size_t kStep = 32, kAhead = 40;

__m256i load(const char* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }
uint32_t mask(__m256i x) { return static_cast<uint32_t>(_mm256_movemask_epi8(x)); }
uint32_t equal(__m256i x, char c) { return mask(_mm256_cmpeq_epi8(x, _mm256_set1_epi8(c))); }
uint32_t same(__m256i x, __m256i y) { return mask(_mm256_cmpeq_epi8(x, y)); }
__m256i in_range(__m256i x, char low, char high) {
  const __m256i d = _mm256_sub_epi8(x, _mm256_set1_epi8(low));
  return _mm256_cmpeq_epi8(_mm256_min_epu8(d, _mm256_set1_epi8(static_cast<char>(high - low))), d);
}

struct Block {
  uint32_t separators, symbols, digits, words, spaces;
};

Block classes(__m256i x) {
  const __m256i digit = in_range(x, '0', '9');
  const __m256i letter = in_range(_mm256_or_si256(x, _mm256_set1_epi8(0x20)), 'a', 'z');
  const __m256i word = _mm256_or_si256(_mm256_or_si256(digit, letter), _mm256_cmpeq_epi8(x, _mm256_set1_epi8('_')));
  const __m256i blank = _mm256_cmpeq_epi8(x, _mm256_set1_epi8(' '));
  const __m256i space = _mm256_or_si256(_mm256_or_si256(in_range(x, 9, 13), in_range(x, 0x1C, 0x1F)), blank);
  const __m256i cut = _mm256_or_si256(in_range(x, '-', '/'), _mm256_cmpeq_epi8(x, _mm256_set1_epi8('\\')));
  return {mask(_mm256_or_si256(space, cut)), ~mask(_mm256_or_si256(word, space)), mask(digit), mask(word),
          mask(blank)};
}

class Counter {
 public:
  Counter(std::string_view s, ZydaFeatures& f, RunHints& hints) : s_(s), f_(f), hints_(hints) {}

  // p: kStep + kAhead bytes that may be read, standing for s[at …]; `valid` of the first kStep count.
  void block(const char* p, size_t at, uint32_t valid) {
    const __m256i x = load(p), x1 = load(p + 1), x2 = load(p + 2);
    if (mask(x) & valid) {
      count_classes(s_, at, std::min(s_.size(), at + kStep), f_, hints_);
    } else {
      const Block b = classes(x);
      f_.chars += static_cast<unsigned>(std::popcount(valid));
      f_.separators += static_cast<unsigned>(std::popcount(b.separators & valid));
      f_.symbols += static_cast<unsigned>(std::popcount(b.symbols & valid));
      f_.digits += static_cast<unsigned>(std::popcount(b.digits & valid));
      const uint32_t twice = same(x, x1) & valid;
      if (twice) {
        const uint32_t seven = twice & same(x, load(p + 3)) & same(x, load(p + 6));
        const uint32_t ten = seven & same(x, load(p + 9));
        hints_.runs = hints_.runs || (seven & b.words);
        hints_.squeeze = hints_.squeeze || (ten & ~b.spaces & ~b.words) || (ten & equal(x, '_')) ||
                         (ten & b.spaces & same(x, load(p + 20)) & same(x, load(p + 39)));
      }
    }
    f_.less += static_cast<unsigned>(std::popcount(equal(x, '<') & valid));
    f_.greater += static_cast<unsigned>(std::popcount(equal(x, '>') & valid));
    f_.quote_colon += static_cast<unsigned>(std::popcount(equal(x, '"') & equal(x1, ':') & valid));
    const uint32_t xml = equal(x, 'x') & equal(x1, 'm') & equal(x2, 'l') & valid;
    f_.xml += static_cast<unsigned>(std::popcount(xml));
    each(xml, at, "xml version=", f_.xml_version);
    each(equal(x, 'h') & equal(x1, 't') & equal(x2, 't') & valid, at, "https://", f_.https);
    each(equal(x, 'l') & equal(x1, 'o') & equal(x2, 'r') & valid, at, "lorem ipsum", f_.lorem_ipsum);
    for (uint32_t m = equal(x, 'w') & equal(x1, 'w') & equal(x2, 'w') & valid; m; m &= m - 1)
      www(at + static_cast<unsigned>(std::countr_zero(m)));
  }

 private:
  // None of these words can overlap itself.
  void each(uint32_t m, size_t at, std::string_view word, uint64_t& count) const {
    for (; m; m &= m - 1) {
      const size_t i = at + static_cast<unsigned>(std::countr_zero(m));
      count += s_.size() - i >= word.size() && std::memcmp(s_.data() + i, word.data(), word.size()) == 0;
    }
  }
  void www(size_t i) {
    if (i < www_from_ || i + 3 >= s_.size() || s_[i + 3] == '\n') return;
    ++f_.www;
    const auto b = static_cast<unsigned char>(s_[i + 3]);
    www_from_ = i + 3 + (b < 0x80 ? 1 : b < 0xE0 ? 2 : b < 0xF0 ? 3 : 4);
  }

  std::string_view s_;
  ZydaFeatures& f_;
  RunHints& hints_;
  size_t www_from_ = 0;
};

}  // namespace

RunHints count_avx2(std::string_view s, ZydaFeatures& f) {
  RunHints hints{false, false};
  Counter counter(s, f, hints);
  size_t i = 0;
  for (; i + kStep + kAhead <= s.size(); i += kStep) counter.block(s.data() + i, i, ~0u);
  for (; i < s.size(); i += kStep) {  // the end, from a padded copy
    char tail[kStep + kAhead] = {};
    std::memcpy(tail, s.data() + i, std::min(sizeof tail, s.size() - i));
    counter.block(tail, i, s.size() - i >= kStep ? ~0u : (1u << (s.size() - i)) - 1);
  }
  return hints;
}

}  // namespace quern::corpus::zyda
