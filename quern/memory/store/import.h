// Imports conversations from files. `tmd`: the TemporalMemoryDataset (one JSON object, session_1 … with turns that
// have "date_time" like "01:56:04 AM on Monday 08 May, 2023"). `jsonl`: one line {"speaker", "text", "time"} per turn,
// time as parse_time_text reads it; with "conversation", "user" and "zone" where the lines are of several, as an export of a
// server writes them.
#pragma once
#include <filesystem>
#include <string_view>
#include <vector>

#include "quern/memory/store/store.h"
#include "quern/memory/time/zone.h"

namespace quern::memory {

std::vector<SpokenTurn> read_tmd(const std::filesystem::path& file, const Zone& zone);
struct ImportedConversation {
  std::string name, user, zone;  // empty: the lines do not say
  std::vector<SpokenTurn> turns;
};
// jsonl, in the order in which the conversations begin; turns by their "response" where every line of the conversation has one
// (an export), else by their times. zone: of times without an offset, where the lines name no other.
std::vector<ImportedConversation> read_conversations(const std::filesystem::path& file, const std::string& zone);
LocalSeconds parse_tmd_time(std::string_view text, std::string_view where);
SpokenTurn at_time(std::string speaker, std::string text, const WrittenTime& time, const Zone& zone);

}  // namespace quern::memory
