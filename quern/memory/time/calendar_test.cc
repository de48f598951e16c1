// Calendar and zones: against Python's zoneinfo (tests/memory/zones.txt, by tools/oracles/memory/zones.py) and
// against themselves over four hundred years.
#include "quern/memory/time/calendar.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>

#include "quern/base/error.h"
#include "quern/base/test_message.h"
#include "quern/memory/time/posix_rule.h"
#include "quern/memory/time/zone.h"

namespace quern::memory {
namespace {

TEST(MemoryCalendar, WritesWhatItReadsOverFourCenturies) {
  const Day end = day_of(2200, 1, 1);
  int weekday = weekday_of(day_of(1800, 1, 1));
  EXPECT_EQ(weekday, 2);  // a Wednesday
  for (Day d = day_of(1800, 1, 1); d < end; ++d) {
    const std::string text = date_text(d);
    const WrittenTime t = parse_time_text(text, "test");
    ASSERT_EQ(t.local, d * kDaySeconds) << text;
    ASSERT_EQ(weekday_of(d), weekday) << text;
    weekday = (weekday + 1) % 7;
    const Civil c = civil(d);
    ASSERT_EQ(day_of(c.year, c.month, c.day), d);
    ASSERT_EQ(day_part(d * kDaySeconds + 86399), d);
  }
}

TEST(MemoryCalendar, KnownDays) {
  EXPECT_EQ(day_of(1970, 1, 1), 0);
  EXPECT_FALSE(date_exists(2023, 2, 29));
  EXPECT_TRUE(date_exists(2024, 2, 29));
  EXPECT_FALSE(date_exists(1900, 2, 29));
  EXPECT_EQ(date_text(easter(2024)), "2024-03-31");
  EXPECT_EQ(date_text(easter(2025)), "2025-04-20");
  EXPECT_EQ(date_text(easter(1961)), "1961-04-02");
  EXPECT_EQ(iso_week(day_of(2021, 1, 3)).week, 53);
  EXPECT_EQ(iso_week(day_of(2021, 1, 3)).year, 2020);
  EXPECT_EQ(iso_week(day_of(2024, 12, 30)).week, 1);
  EXPECT_EQ(date_text(add_months(day_of(2024, 3, 31), -1)), "2024-02-29");
  EXPECT_EQ(date_text(add_months(day_of(2024, 1, 15), -13)), "2022-12-15");
  EXPECT_EQ(parse_time_text("2023-05-08T13:56:04+02:00", "x").offset, 7200);
  EXPECT_EQ(parse_time_text("2023-05-08 13:56", "x").offset, std::nullopt);
  for (const char* bad :
       {"", "2023", "2023-02-30", "2023-05-08 24:00", "2023-05-08 12:00 PM", "8 May 2023", "2023-05-08T13:56+99"})
    EXPECT_THROW(parse_time_text(bad, "--now"), Error) << bad;
  EXPECT_NE(message_of([] { parse_time_text("2023-02-31", "--now"); }).find("--now"), std::string::npos);
}

TEST(MemoryZone, AgreesWithAnotherProgram) {
  std::ifstream f(std::string(QUERN_SOURCE_DIR) + "/tests/memory/zones.txt");
  ASSERT_TRUE(f.good());
  std::map<std::string, Zone> zones;
  std::string kind, name;
  int64_t at = 0, want = 0, n = 0;
  try {
    Zone::load("Europe/Berlin");
  } catch (const Error& e) {
    GTEST_SKIP() << e.what();
  }
  // The clocks of Morocco follow the moon: what tzdata predicts changes from release to release.
  constexpr int64_t kPredicted = 1'700'000'000;
  while (f >> kind >> name >> at >> want) {
    if (name == "Africa/Casablanca" && at > kPredicted) continue;
    if (!zones.contains(name)) zones.emplace(name, Zone::load(name));
    const Zone& z = zones.at(name);
    if (kind == "utc")
      ASSERT_EQ(z.offset_at(at), want) << name << " " << at;
    else
      ASSERT_EQ(z.to_utc(at), want) << name << " " << time_text(at);
    ++n;
  }
  EXPECT_GT(n, 3000);
}

TEST(MemoryZone, FixedOffsetsAndRefusals) {
  EXPECT_EQ(Zone().offset_at(0), 0);
  EXPECT_EQ(Zone::load("+02:00").offset_at(0), 7200);
  EXPECT_EQ(Zone::load("-0330").offset_at(0), -12600);
  for (const char* bad : {"../../etc/passwd", "/etc/passwd", "Mars/Olympus", "", "+99"})
    EXPECT_THROW(Zone::load(bad), Error) << bad;
  EXPECT_THROW(Zone::from_table("x", "TZif2"), Error);
  std::string cut = "TZif2" + std::string(15, '\0') + std::string(23, '\0') + "\x7f";
  EXPECT_THROW(Zone::from_table("x", cut), Error);
}

TEST(MemoryZone, RulesInPosixForm) {
  const auto berlin = PosixRule::parse("CET-1CEST,M3.5.0,M10.5.0/3");
  ASSERT_TRUE(berlin);
  EXPECT_EQ(berlin->offset_at(parse_time_text("2040-07-01", "").local), 7200);
  EXPECT_EQ(berlin->offset_at(parse_time_text("2040-12-01", "").local), 3600);
  const auto south = PosixRule::parse("<+1030>-10:30<+11>-11,M10.1.0,M4.1.0");
  ASSERT_TRUE(south);
  EXPECT_EQ(south->offset_at(parse_time_text("2040-01-01", "").local), 11 * 3600);
  for (const char* bad :
       {"", "C", "CET", "CET-1CEST,M13.1.0,M10.5.0", "CET-1CEST,M3.5.0", "CET-1CEST,M3.5.0,M10.5.0/3x"})
    EXPECT_FALSE(PosixRule::parse(bad)) << bad;
}

}  // namespace
}  // namespace quern::memory
