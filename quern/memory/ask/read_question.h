// How a question is read, before any row is ranked: in plain English (memory/wording), its times with what it takes
// over from the questions before it, its topic, and the one speaker that it asks about.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quern/memory/ask/occurrence.h"
#include "quern/memory/event/event_finder.h"
#include "quern/memory/plan/plan.h"
#include "quern/memory/topic/topic.h"

namespace quern::memory {

struct ContextTurn {
  std::string speaker, text;
};

struct QuestionFrame {  // what a question is asked of
  const TurnTable& table;
  const std::vector<std::string>& speakers;
  const Clock& clock;
  const std::string& asker;
  // The turn that tells of an event ("the vet", "I got the dog"), of this speaker where it is known.
  std::function<std::optional<EventFound>(std::string_view name, std::optional<int32_t> speaker)> event;
};

struct ReadQuestion {
  std::string text;  // as it was read
  TimeQuery time;
  Topic topic;
  std::optional<int32_t> speaker;
  std::optional<int32_t> left_out;  // a speaker: all others are meant
  int64_t context_turn = -1;        // whose time or topic was taken
  OccurrenceAsked occurrence = {};
  bool foreign_fact = false;  // it asks for a fact that may have changed, and not in English
  std::string asked;          // as it was asked; empty: it asks what was said
  std::vector<std::string> notes;
};

ReadQuestion read_question(std::string_view question, const std::vector<ContextTurn>& context,
                           const QuestionFrame& frame);

}  // namespace quern::memory
