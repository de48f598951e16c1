// Turns as JSON objects, the lines of `quern memory export` and of what `quern memory import` reads: speaker, text, time
// with its offset, response and session.
#pragma once
#include <cstdint>
#include <functional>

#include "quern/memory/ask/memory.h"

namespace quern::memory {

std::string offset_time_text(const TurnTable& table, size_t row);  // 2023-05-08 13:56:04+02:00
Json turn_line(Memory& m, size_t row, std::string_view text);

// Up to `limit` turns from response number `first` on, in the order of the numbers.
void each_turn_line(Memory& m, int32_t first, int64_t limit, const std::function<void(const Json&)>& f);

}  // namespace quern::memory
