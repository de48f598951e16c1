// Whether token ids are of a model's vocabulary.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>

namespace quern::models {

// Throws Error naming the first id outside [0, vocab) and its position; `what` says what the ids are of: "prompt".
void check_token_ids(std::span<const int32_t> ids, int64_t vocab, std::string_view what = "");

}  // namespace quern::models
