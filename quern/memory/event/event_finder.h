// Which turn of a conversation tells of an event: BM25 finds turns with the event's words, or with others that tell of
// the same, and of what is near by its kind (memory/kinds: "Rusty got his stitches out" of the vet); those that report it are preferred to announcements, questions and recollections, and the earliest of
// equals is taken, since later ones look back. An announcement with a date ("the vet is on Friday") stands for that day.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quern/memory/plan/turn_table.h"
#include "quern/memory/time/time_query.h"
#include "quern/recall/bm25/bm25.h"

namespace quern::memory {

// The conversation as the finder needs it: of turns that the question may see.
struct EventSource {
  const TurnTable& table;
  const std::vector<std::string>& speakers;
  size_t rows;  // the first so many: later ones are ahead of the clock
  std::function<std::vector<recall::ScoredDocument>(std::string_view query, size_t k)> top;
  std::function<uint64_t(std::string_view word)> turns_with;
  std::function<std::string(uint32_t row)> text;
};

struct EventFound {
  uint32_t row = 0;
  std::string text;
  std::optional<TimeRange> announced = {};  // LocalSeconds: when it was to be, after the turn
  bool ahead = false;                       // the turn announces it without a date
};

// name: as the question has it ("I got the dog"); speaker: whose event it is, where that is known.
std::optional<EventFound> find_event(std::string_view name, std::optional<int32_t> speaker,
                                     const EventSource& source);

}  // namespace quern::memory
