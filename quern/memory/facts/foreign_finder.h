// Questions about facts that change in German, French and Spanish, and plain statements that answer them: "Wo wohne ich?" —
// "Ich wohne jetzt in Kiel." By phrases alone (foreign_tables.h), in one language or several of a conversation.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quern/memory/facts/fact_finder.h"

namespace quern::memory {

struct ForeignKind;

struct ForeignFact {
  FactQuestion question;
  const ForeignKind* kind = nullptr;
  int year = 0;                // that it names, as German does: "Wo habe ich 2021 gewohnt?"
  bool asker_unknown = false;  // it asks of "me", and no one is said to ask
};
std::optional<ForeignFact> foreign_fact(std::string_view question, TimeSaid time,
                                        const std::vector<std::string>& speakers, const std::string& asker);
// For an index, where there are too many turns to look at.
std::string foreign_statement_words(const ForeignFact& fact);
// As find_statements.
std::vector<FactStatement> find_foreign_statements(const ForeignFact& fact, const TurnTable& table,
                                                   const std::vector<uint32_t>& rows,
                                                   const std::vector<std::string>& speakers,
                                                   const std::function<std::string(uint32_t)>& text);

}  // namespace quern::memory
