// Aggregation prompt of test-time compute: the question, the ends of several solutions, and the request for one
// answer. Training examples and inference use the same bytes; because tails are carried as tokens, the prompt comes as
// the pieces of text between them.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quern/text/chat/chat_prompt.h"

namespace quern::text {

// n + 1 pieces: tail i stands between piece i and piece i + 1.
std::vector<std::string> aggregation_pieces(std::string_view question, int n);

// The conversation with its last question set into the aggregation prompt around these tails.
std::vector<int32_t> aggregation_prompt(const ChatTemplate& chat_template, const Tokenizer& tokenizer, Json messages,
                                        std::span<const std::vector<int32_t>> tails);

}  // namespace quern::text
