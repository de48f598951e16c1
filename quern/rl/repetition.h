// How much a text of tokens repeats itself: the lowest share of its size that any stretch of 256 tokens compresses to,
// given what came before. Answers that go round in circles come down to a few percent; prose, sums and code do not. The
// compressor is raw deflate over token ids of four bytes, with a window of 4 KiB, so that loops of up to 256 tokens are
// found. Every stretch is flushed: a text that arrives token by token gives the numbers of one that arrives at once.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace quern::rl {

// 1 for texts too short to judge (less than one stretch).
double min_compression(std::span<const int32_t> tokens);

}  // namespace quern::rl
