// What a model is asked when several attempts at one question lie before it: the question, the ends of the attempts,
// and the request for one answer. Training examples and test-time aggregation write the same bytes; because tails are
// carried as tokens, the prompt comes as the pieces of text between them.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace quern {

// n + 1 pieces: tail i stands between piece i and piece i + 1.
std::vector<std::string> aggregation_pieces(std::string_view question, int n);

}  // namespace quern
