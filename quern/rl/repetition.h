// How much a text of tokens repeats itself: the lowest share of its size that any stretch of 256 tokens compresses to,
// given what came before. Answers that go round in circles come down to a few percent; prose, sums and code do not. The
// compressor is raw deflate with a window of 4 KiB (loops of up to 256 tokens are found), fed token ids of four bytes, flushed after every stretch, so a text
// that arrives token by token gives the same numbers as all at once.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace quern::rl {

// 1 for texts too short to judge (less than one stretch).
double min_compression(std::span<const int32_t> tokens);

}  // namespace quern::rl
