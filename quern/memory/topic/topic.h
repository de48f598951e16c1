// Topic of a question: the words that remain once time phrases, function words and the verbs of talking ("what did we
// discuss …", "summarize", "remind me") are removed. Also whether it refers to something said before ("Yes, please
// do", "what did we say then?").
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "quern/memory/time/time_query.h"

namespace quern::memory {

struct Topic {
  std::vector<std::string> words;          // as written, lower case
  std::vector<std::string> subjects = {};  // those of them that stand behind "about" and the like
  std::vector<std::string> deeds;          // words of talking that may also be a deed ("What did Ada write?")
  std::string text() const;                // joined by spaces
};
// `names`: words that count as people, not as topics.
Topic topic_of(std::string_view question, const TimeQuery& time, const std::vector<std::string>& names);
// Points at a time ("then", "those conversations", "over that period").
bool points_at_a_time(std::string_view question);
// Points at a thing ("about it", "tell me more").
bool points_at_a_thing(std::string_view question);

}  // namespace quern::memory
