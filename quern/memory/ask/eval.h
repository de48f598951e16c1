// Evaluates a Memory on questions with known answers, in the TemporalMemoryDataset's format: recall, precision and F2
// = 5PR / (4P + R) per question, their means per type of question, and 95 % intervals by resampling items (a
// question's rewordings stay together).
#pragma once
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "quern/base/json.h"
#include "quern/memory/ask/memory.h"

namespace quern::memory {

struct Scores {
  double recall = 0, precision = 0, f2 = 0;
};
Scores score(const std::vector<int32_t>& found, const std::vector<int32_t>& relevant);

struct EvalOptions {
  Semantics semantics = Semantics::strict;
  bool speaker_filter = true;
  double neighbor = AskOptions().neighbor;
  TopicRank rank = AskOptions().rank;
  int64_t resamples = 1000;
  int64_t failures = 0;  // of each type, how many questions below F2 = 0.999 to list
  std::function<void(const std::string&)> progress;
};
// DIR holds conversations/ (or ConversationData/) and time_qs/, ambiguous_time_qs/, content_time_qs/ (or those under
// TestData/).
Json evaluate_memory(const std::filesystem::path& dir, const EvalOptions& options);

}  // namespace quern::memory
