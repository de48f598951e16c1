// The statements of a fact in a conversation, in the order of time: "I'm renting a cottage outside Sligo now" of where
// somebody lives. Evidence is added up to a probability: the kinds of facts that the turn's words speak of (telling_kinds.h),
// phrases that tell of the field, words of the question, whose turn it is, whether a name, a number or a date stands
// there, the question that it answers, and what it is not: a question, a wish, somebody else's.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "quern/memory/facts/fact_question.h"
#include "quern/memory/plan/turn_table.h"

namespace quern::memory {

struct FactStatement {
  uint32_t row;
  double score;        // how likely it states the fact, 0 to 1
  bool ended = false;  // tells that it was over
  bool later = false;  // has what the question names as having come after
};

// Of these rows, ascending; text(row) is a turn's.
std::vector<FactStatement> find_statements(const FactQuestion& question, const TurnTable& table,
                                           const std::vector<uint32_t>& rows,
                                           const std::function<std::string(uint32_t)>& text);
bool has_name(std::string_view text);  // a word with a capital that begins no sentence
// Words that statements of it are likely to have, for an index.
std::string statement_words(const FactQuestion& question);
// The statement that answers: an index into them, −1 for none. `until`: of a question about a time, its end.
int64_t choose_statement(const FactQuestion& question, const std::vector<FactStatement>& statements,
                         const TurnTable& table, int64_t until);

}  // namespace quern::memory
