// Measures a memory on this machine: parsing a question's time, storing a turn until it can be found, questions over
// many turns, and resident memory. Turns are synthetic: about 36 words each, sampled by Zipf's law.
#pragma once
#include <cstdint>
#include <filesystem>

#include "quern/base/json.h"

namespace quern::memory {

struct SpeedOptions {
  int64_t turns = 100'000;  // there before the measured ones are added
  int64_t appends = 2000;   // measured one by one
  int64_t parses = 20'000;
};
// Writes a file memory.db into `folder` and leaves it there.
Json measure_speed(const std::filesystem::path& folder, const SpeedOptions& options);

}  // namespace quern::memory
