// Normalizes ASCII text to words: lower case, punctuation deleted, white space collapsed to one space, word starts
// recorded. One character at a time, or 64 with AVX2 or AVX-512 VBMI2: deleted characters are compressed out, then
// repeated spaces. A text may come in pieces, with other characters between them. Cost: 6 cycles per byte one at a time,
// or 1 with VBMI2 (half of it for the word starts).
#pragma once
#include <cstddef>
#include <cstdint>

namespace quern::corpus {

struct WordState {
  char* out = nullptr;        // room for the piece and 64 bytes more
  uint32_t* begin = nullptr;  // room for half as many, and one
  size_t n = 0, tokens = 0;   // written so far
  unsigned between = 1;       // the last character written was a space, or none was
};

// Every byte of the piece is below 0x80.
void ascii_words(const char* piece, size_t n, WordState& w);
void ascii_word_step(unsigned char c, WordState& w);  // one character

void ascii_words_ref(const char* piece, size_t n, WordState& w);
void ascii_words_avx2(const char* piece, size_t n, WordState& w);    // wants BMI2 as well
void ascii_words_avx512(const char* piece, size_t n, WordState& w);  // wants VBMI2 as well
bool has_ascii_words_avx2();                                         // and it is faster
bool has_ascii_words_avx512();

}  // namespace quern::corpus
