// What of a question its reading did not use, besides words of time that no rule took (TimeQuery::unread): that it goes
// on from another one, that it refers to a time named before, an exception that was not taken out, a comparison. An
// answer without such a note used every word of these kinds.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "quern/memory/ask/read_question.h"
#include "quern/memory/wording/link_words.h"

namespace quern::memory {

struct ReadingUse {
  bool history = false;     // a question with a time came before
  bool took_time = false;   // its time is in the reading
  bool took_thing = false;  // or its topic, or its speaker
  bool stepped = false;     // a follow-up rule read this question
  bool repeats = false;     // time, topic and speaker are those of the question before
  bool complete = false;    // this question has a verb and a time of its own
  bool names_time = false;  // of its own
  bool speaker_left_out = false;
  bool named_speaker = false;  // it or the question before names one
  bool said_missing = false;   // a note says already that the question before is missing
};

const LinkWord* link_of(const std::vector<LinkWord>& links, LinkKind kind);  // nullptr: none
std::vector<std::string> unused_words(const std::vector<LinkWord>& links, const TimeQuery& time,
                                      const ReadingUse& use);
// "isn't a Sunday", "not on Tuesday": a time that is denied, and of which the query takes the turns. `asked` is in English.
std::vector<std::string> denied_times(std::string_view asked, const TimeWords& words, const TimeQuery& time);

}  // namespace quern::memory
