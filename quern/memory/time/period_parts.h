// Parts of a period: some of its days, thirds and halves, and its v-th day, week, weekend, month or quarter.
#pragma once
#include <optional>

#include "quern/memory/time/time_parser.h"

namespace quern::memory {

// As absolute as the whole.
Period days_of(const Period& base, Day lo, Day hi, Grain grain = Grain::week, const char* name = "part-of-period");
Period sixths_of(const Period& base, int from, int to);  // thirds and halves; whole months of a year
Period third_of(const Period& base, Word w);             // "early", "mid", "the end"

// The v-th of a period's units, or the v-th from its end; with n > 1 that and the next ones.
struct Counted {
  int64_t v = 1, n = 1;
  bool from_end = false;
};
std::optional<Period> units_of(const Period& base, Unit u, Counted c);  // nothing where it has none of them

}  // namespace quern::memory
