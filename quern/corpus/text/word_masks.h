// Which of 64 characters are written and where words begin, for the ways of ascii_words.h that take 64 at a time. Only for
// files that are compiled with BMI2. All masks have one bit per character; `pressed` ones refer to what is left after
// deletion.
#pragma once
#include <immintrin.h>

#include <bit>

#include "quern/corpus/text/ascii_words.h"

namespace quern::corpus {
namespace {

// Of the characters that stay, those that are written: all of words, and of spaces in a row the first. The word starts and
// the state are brought up to date; w.n is left to the caller. At least one character stays.
inline uint64_t written_of_pressed(uint64_t space, uint64_t stays, WordState& w) {
  const int left = std::popcount(stays);
  const uint64_t all = ~uint64_t{0} >> (64 - left);
  const uint64_t pressed_space = _pext_u64(space, stays), pressed_word = all & ~pressed_space;
  const uint64_t behind_word = pressed_word << 1 | (w.between ^ 1u);
  const uint64_t written = pressed_word | (pressed_space & behind_word);
  const auto n = static_cast<uint32_t>(w.n);
  uint32_t* to = w.begin + w.tokens;
  for (uint64_t starts = _pext_u64(pressed_word & ~behind_word, written); starts; starts &= starts - 1)
    *to++ = n + static_cast<uint32_t>(std::countr_zero(starts));
  w.tokens = static_cast<size_t>(to - w.begin);
  w.between = static_cast<unsigned>(pressed_space >> (left - 1) & 1);
  return written;
}

}  // namespace
}  // namespace quern::corpus
