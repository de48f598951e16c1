// Turns as JSON objects, the lines of `quern memory export` and of what `quern memory import` reads: speaker, text, time
// with its offset, response and session.
#pragma once
#include <cstdint>
#include <functional>

#include "quern/memory/ask/memory.h"

namespace quern::memory {

// Up to `limit` turns from response number `first` on, in order.
void each_turn_line(Memory& m, int32_t first, int64_t limit, const std::function<void(const Json&)>& f);

}  // namespace quern::memory
