// Questions about things that change: "Where do I live now?", "What was Ada's job in May?", "Who did I work for before
// that?", "Since when have I had the Skoda?". They ask for the newest statement of a fact, for the one that held at a
// time, or for the one before. Questions about what was said are none of these.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace quern::memory {

enum class FactTime : uint8_t { now, at, before, first, when };

struct FactField;  // fact_fields.h

struct FactQuestion {
  FactTime time = FactTime::now;
  const FactField* field = nullptr;    // what it is about: a home, a job, a number, …; null: what its words say
  std::vector<std::string> words;      // lower case, what else it names: "choir", "colour", "Skoda"
  std::optional<int32_t> speaker;      // whose
  std::string relative;                // "sister": of the speaker; empty: the speaker's own
  std::vector<std::string> later;      // what came after it: "Skoda" of "before the Skoda"
  bool counts = false, dates = false;  // "how many", "when is"
};

enum class TimeSaid : bool { no, yes };  // in the question: "in May"
std::optional<FactQuestion> fact_question(std::string_view question, TimeSaid time,
                                          const std::vector<std::string>& speakers, const std::string& asker);

}  // namespace quern::memory
