// Ranks turns by MixPR (quern/recall/mixpr/mixpr.h): the turns are the chunks of a similarity graph built for the
// question; the random walk restarts at what BM25 finds among them. Cost: the graph of some thousand turns, about 50
// µs per turn of its text.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quern::memory {

// (place among the texts, score), in no order; only what the walk reaches. Of equal texts the last has the score.
std::vector<std::pair<size_t, double>> walk_scores(std::span<const std::string> texts, std::string_view topic);

}  // namespace quern::memory
