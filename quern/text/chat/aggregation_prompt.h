// Aggregation prompt of test-time compute: the question, the ends of several solutions, and the request for one
// answer. Training examples and inference use the same bytes; because tails are carried as tokens, the prompt comes as
// the pieces of text between them.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace quern::text {

// n + 1 pieces: tail i stands between piece i and piece i + 1.
std::vector<std::string> aggregation_pieces(std::string_view question, int n);

}  // namespace quern::text
