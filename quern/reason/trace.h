// Splits a response into thinking and answer. The thinking lies between <think> (or the beginning, if the prompt
// opened it) and </think>; a tag may be several tokens. Positions count tokens.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "quern/infer/sampling/grammar_constraint.h"
#include "quern/text/tokenizer/tokenizer.h"

namespace quern::reason {

struct Trace {
  int64_t begin = 0, end = 0;  // tokens of the thinking, without tags
  int64_t answer = 0;          // first token behind </think>; the number of tokens when it never closed
  bool closed = false;
};

// Without a tag, and not opened by the prompt, all of it is answer.
Trace read_trace(std::span<const int32_t> tokens, const text::Tokenizer& tokenizer, infer::ThinkStart start);

// The last `tau` tokens of the thinking.
std::vector<int32_t> tail_of(std::span<const int32_t> tokens, const Trace& t, int64_t tau);

}  // namespace quern::reason
