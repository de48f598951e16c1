#include "quern/corpus/text/ascii_words.h"

#include <array>

#include "quern/base/cpu.h"

namespace quern::corpus {
namespace {

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

}  // namespace

void ascii_word_step(unsigned char c, WordState& w) {
  const unsigned keep = kAscii.keep[c], space = kAscii.space[c];
  w.out[w.n] = static_cast<char>(kAscii.lower[c]);
  w.begin[w.tokens] = static_cast<uint32_t>(w.n);
  w.tokens += keep & w.between;
  w.n += keep | (space & (w.between ^ 1u));
  w.between = space | (w.between & (keep ^ 1u));
}

void ascii_words_ref(const char* piece, size_t n, WordState& w) {
  WordState local = w;
  for (size_t i = 0; i < n; ++i) ascii_word_step(static_cast<unsigned char>(piece[i]), local);
  w = local;
}

bool has_ascii_words_avx512() {
  static const bool here = __builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("bmi2");
  return here && active_isa() == Isa::avx512;
}

bool has_ascii_words_avx2() {
  // The first two Zen generations take hundreds of cycles for the instructions that gather bits.
  static const bool here = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") &&
                           !__builtin_cpu_is("znver1") && !__builtin_cpu_is("znver2");
  return here && active_isa() >= Isa::avx2;
}

void ascii_words(const char* piece, size_t n, WordState& w) {
  if (n >= 16 && has_ascii_words_avx512())
    ascii_words_avx512(piece, n, w);
  else if (n >= 16 && has_ascii_words_avx2())
    ascii_words_avx2(piece, n, w);
  else
    ascii_words_ref(piece, n, w);
}

}  // namespace quern::corpus
