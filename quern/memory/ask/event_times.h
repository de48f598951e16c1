// The times that a question names by events (memory/event), found in the conversation.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "quern/memory/ask/read_question.h"

namespace quern::memory {

constexpr const char* kEventTime = "event";  // name of their constraints

struct EventTimes {
  std::string text;   // the question, with the day of an event in its place where days are counted from it
  std::string asked;  // the same with blanks where events stand: what else it asks
  std::vector<TimeConstraint> constraints;
  std::vector<std::string> notes;  // which turn each event was taken for
};

EventTimes event_times(std::string_view question, DateOrder order, const std::vector<std::string>& people,
                       const QuestionFrame& frame);

}  // namespace quern::memory
