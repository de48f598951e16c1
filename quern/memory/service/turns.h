// What programs do with a conversation: add turns with notes on their times, find turns for a question, choose turns to
// forget. The HTTP endpoints, the MCP tools and the command line share it.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "quern/memory/ask/memory.h"

namespace quern::memory {

int64_t seconds_now();  // since 1970, by this machine's clock

struct AddedTurn {
  StoredTurn stored;
  std::vector<std::string> notes;  // that its time is ahead of now, or before that of other turns
};
std::vector<AddedTurn> add_turns(Memory& m, const std::vector<SpokenTurn>& turns, int64_t utc_now);

struct FoundTurn {
  size_t row = 0;     // of the table
  double score = -1;  // of a topic; below 0: it was found by its time
};
struct FoundTurns {
  std::vector<FoundTurn> turns;  // at most k, in order of time
  std::vector<std::string> notes;
  MemoryResult result;
};
FoundTurns find_turns(Memory& m, std::string_view question, const AskOptions& options);

// Which turns: exactly one of the three.
struct TurnChoice {
  std::optional<int64_t> response, session;
  std::optional<int64_t> before;  // since 1970, whatever the clocks of the turns showed
};
// Their response numbers; none: no turn is meant.
std::vector<int32_t> chosen_turns(Memory& m, const TurnChoice& choice);

// On the wall of the zone, with what that wall is ahead of Greenwich: an hour that a clock shows twice is one of the two.
struct WallTime {
  LocalSeconds local = 0;
  int32_t offset = 0;
  int64_t utc() const { return local - offset; }
};
// A time as text on the wall of the zone, or with its own offset; nothing: now.
WallTime wall_time(const std::optional<std::string>& text, const char* what, const Zone& zone);

}  // namespace quern::memory
