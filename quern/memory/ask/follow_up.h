// Questions that go on from the one before: "and the day before?", "the second of them", "and the one that came next",
// "same week, but what did Ben say?", "and in the evening?". What the last question meant is carried as its query; the
// result is a query of its own again, so that a follow-up may follow another.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quern/memory/plan/plan.h"

namespace quern::memory {

struct CarriedTime {
  TimeQuery query;
  bool year_named = false;     // the question said a year
  bool session_named = false;  // or a chat, a conversation: what "the one after it" may be
  bool empty() const { return query.empty(); }
};

struct FollowUp {
  TimeQuery query;
  bool replaces = false;      // the question's own times are in it, or were no times
  bool missing = false;       // it refers to a question, and none with a time came before
  std::vector<uint8_t> used;  // tokens that it was read from: 1
};

// `own`: what the question says by itself. Nothing when it does not go on from another.
std::optional<FollowUp> follow_up(const TimeWords& words, const TimeQuery& own, const CarriedTime& carried,
                                  const TurnTable& table, const Clock& clock);
// "and …?", "what about …?", "only …", or a few words: what it leaves out is as it was.
bool elliptic(const TimeWords& words);
// It neither says nor asks anything by a verb: "and on Tuesday?"
bool verbless(const TimeWords& words);
// The phrase of the question that names a part of some time ("Tuesday", "the 4th"), of another one than was carried.
std::optional<TimeConstraint> part_of_another_time(const TimeWords& words, const TimeQuery& own,
                                                   const CarriedTime& carried, const TurnTable& table,
                                                   const Clock& clock);
bool names_a_year(const TimeWords& words);
bool names_a_session(const TimeWords& words);  // "our chat on Monday"

}  // namespace quern::memory
