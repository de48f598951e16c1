// Against dates that `date -u -d @SECONDS` prints.
#include "quern/serve/wire/rfc3339.h"

#include <gtest/gtest.h>

namespace quern::serve {
namespace {

TEST(Rfc3339, IsWhatDatePrints) {
  EXPECT_EQ(rfc3339(0), "1970-01-01T00:00:00Z");
  EXPECT_EQ(rfc3339(951782399), "2000-02-28T23:59:59Z");
  EXPECT_EQ(rfc3339(951782400), "2000-02-29T00:00:00Z");
  EXPECT_EQ(rfc3339(1795662245), "2026-11-26T03:04:05Z");
  EXPECT_EQ(rfc3339(-1), "1969-12-31T23:59:59Z");
  EXPECT_EQ(rfc3339_micro(1795662245.25), "2026-11-26T03:04:05.250000Z");
}

}  // namespace
}  // namespace quern::serve
