// Questions for the first time, the last time, or the number of times that something was talked of: "When did we first talk
// about the goose?", "Who mentioned the roof last?", "How often did Ada bring up the choir?".
#pragma once
#include <cstdint>

#include "quern/memory/time/time_query.h"

namespace quern::memory {

enum class Occurrence : uint8_t { none, first, last, count };
enum class OccurrenceWanted : uint8_t { turn, talk };  // "when did we first …"; "what did we say the first time we …"

struct OccurrenceAsked {
  Occurrence which = Occurrence::none;
  OccurrenceWanted wanted = OccurrenceWanted::turn;
  uint32_t begin = 0, end = 0;  // bytes of the words that ask for it
  bool unused = false;          // "first" of something that was done, not talked of: it was not used
};

// Of a question in plain English that names a topic.
OccurrenceAsked occurrence_asked(const TimeWords& words);
// What the grammar took of those words, or passed over, is taken back.
void take_back(const OccurrenceAsked& asked, std::string_view text, TimeQuery& time);

}  // namespace quern::memory
