// Times that a question names by an event: "after the vet", "before we moved to Leeds", "since Ada's wedding", "two
// weeks after the operation", "between the exam and the trip". Which turn tells of the event is event_finder.h's
// question. What the grammar of time expressions has read is no event.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "quern/memory/time/time_query.h"

namespace quern::memory {

struct EventName {  // bytes of the question
  uint32_t begin = 0, end = 0;
  std::string_view in(std::string_view question) const { return question.substr(begin, end - begin); }
};

enum class EventSide : uint8_t { before, after, since, until, between, day };  // day: "on the day of the vet"

struct EventPhrase {
  EventSide side = EventSide::after;
  bool close = false;    // "right after": no further than the next session
  bool counted = false;  // "two weeks after", "the Friday before": days counted from that of the event
  uint32_t begin = 0, end = 0;
  EventName name, second;  // second: of `between`
};

// `people`: names of speakers, lower case.
std::vector<EventPhrase> event_phrases(std::string_view question, const TimeWords& words, const TimeQuery& own,
                                       const std::vector<std::string>& people);

}  // namespace quern::memory
