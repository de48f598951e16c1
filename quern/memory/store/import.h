// Imports conversations from files. `tmd`: the TemporalMemoryDataset (one JSON object, session_1 … with turns that
// have "date_time" like "01:56:04 AM on Monday 08 May, 2023"). `jsonl`: one line {"speaker", "text", "time"} per turn,
// time as parse_time_text reads it.
#pragma once
#include <filesystem>
#include <string_view>
#include <vector>

#include "quern/memory/store/store.h"
#include "quern/memory/time/zone.h"

namespace quern::memory {

std::vector<SpokenTurn> read_tmd(const std::filesystem::path& file, const Zone& zone);
std::vector<SpokenTurn> read_turns(const std::filesystem::path& file, const Zone& zone);  // jsonl
LocalSeconds parse_tmd_time(std::string_view text, std::string_view where);
SpokenTurn at_time(std::string speaker, std::string text, const WrittenTime& time, const Zone& zone);

}  // namespace quern::memory
