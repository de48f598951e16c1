// A year that is said once belongs to all that is named beside it; nights by both of their days.
#include <gtest/gtest.h>

#include "quern/memory/time/time_query.h"
#include "quern/memory/wording/wording.h"

namespace quern::memory {
namespace {

// The dates of the only constraint, or of those that are held and those that are taken away.
std::string dates(const char* question, const char* now = "2024-03-14 15:20") {
  Clock clock;
  clock.now = parse_time_text(now, "test").local;
  const PlainWording plain = plain_wording(question);
  if (plain.language == Language::german || plain.language == Language::french || plain.language == Language::spanish)
    clock.order.month_first = false;
  std::string out;
  for (const TimeConstraint& c : parse_time(plain.text, time_words(plain.text, clock.order), clock).constraints) {
    if (!out.empty()) out += c.join == TimeJoin::except ? " - " : " ";
    if (c.axis != Axis::date) return "another axis";
    for (size_t i = 0; i < c.ranges.size(); ++i) {
      const TimeRange& r = c.ranges[i];
      const std::string lo = r.lo == kNoBegin ? "" : date_text(day_part(r.lo)),
                        hi = r.hi == kNoEnd ? "" : date_text(day_part(r.hi));
      out += (i ? " " : "") + (lo == hi ? lo : lo + ".." + hi);
    }
  }
  return out;
}

TEST(SharedYears, OfSpans) {
  EXPECT_EQ(dates("between Easter and Whitsun 2022"), "2022-04-17..2022-06-05");
  EXPECT_EQ(dates("between Easter and Whitsun 2019"), "2019-04-21..2019-06-09");
  EXPECT_EQ(dates("from Christmas to Easter 2021"), "2020-12-25..2021-04-04");
  EXPECT_EQ(dates("from Easter 2021 to Whitsun"), "2021-04-04..2021-05-23");
  EXPECT_EQ(dates("from Christmas 2020 until Easter"), "2020-12-25..2021-04-04");
  EXPECT_EQ(dates("between March and May 2022"), "2022-03-01..2022-05-31");
  EXPECT_EQ(dates("from November to February 2022"), "2021-11-01..2022-02-28");
  EXPECT_EQ(dates("from 3 May to 6 June 2021"), "2021-05-03..2021-06-06");
  EXPECT_EQ(dates("from May 3 to June 6, 2021"), "2021-05-03..2021-06-06");
  EXPECT_EQ(dates("between spring and autumn 2021"), "2021-03-01..2021-11-30");
  EXPECT_EQ(dates("from autumn 2020 to spring"), "2020-09-01..2021-05-31");
  EXPECT_EQ(dates("between Easter and 3 June 2021"), "2021-04-04..2021-06-03");
  EXPECT_EQ(dates("between March and Whitsun 2021"), "2021-03-01..2021-05-23");
  EXPECT_EQ(dates("between early March and mid May 2021"), "2021-03-01..2021-05-20");
  EXPECT_EQ(dates("from the first week of March to the second week of May 2021"), "2021-03-01..2021-05-14");
  EXPECT_EQ(dates("between Easter and Whitsun last year"), "2023-04-09..2023-05-28");
}

TEST(SharedYears, OfLists) {
  EXPECT_EQ(dates("at Easter and Whitsun 2022"), "2022-04-17 2022-06-05");
  EXPECT_EQ(dates("at Easter, Whitsun and Christmas 2021"), "2021-04-04 2021-05-23 2021-12-25");
  EXPECT_EQ(dates("in March or May 2022"), "2022-03-01..2022-03-31 2022-05-01..2022-05-31");
  EXPECT_EQ(dates("in spring and autumn 2021"), "2021-03-01..2021-05-31 2021-09-01..2021-11-30");
  EXPECT_EQ(dates("on 3 May and 6 June 2021"), "2021-05-03 2021-06-06");
  EXPECT_EQ(dates("in March as well as in May 2022"), "2022-03-01..2022-03-31 2022-05-01..2022-05-31");
  EXPECT_EQ(dates("in March 2021 and in May"), "2021-03-01..2021-03-31 2021-05-01..2021-05-31");
  EXPECT_EQ(dates("on March 5, 7 and 9, 2022"), "2022-03-05 2022-03-07 2022-03-09");
}

TEST(SharedYears, OfExceptions) {
  EXPECT_EQ(dates("in 2022 except March"), "2022-01-01..2022-12-31 - 2022-03-01..2022-03-31");
  EXPECT_EQ(dates("in 2022 except at Easter"), "2022-01-01..2022-12-31 - 2022-04-17");
}

TEST(SharedYears, InOtherLanguages) {
  EXPECT_EQ(dates("Was war zwischen Ostern und Pfingsten 2022?"), "2022-04-17..2022-06-05");
  EXPECT_EQ(dates("Was haben wir zwischen März und Mai 2022 besprochen?"), "2022-03-01..2022-05-31");
  EXPECT_EQ(dates("Was haben wir vom 3. Mai bis zum 6. Juni 2021 besprochen?"), "2021-05-03..2021-06-06");
  EXPECT_EQ(dates("Was war zwischen Frühling und Herbst 2021?"), "2021-03-01..2021-11-30");
  EXPECT_EQ(dates("De quoi avons-nous parlé entre Pâques et la Pentecôte 2022 ?"), "2022-04-17..2022-06-05");
  EXPECT_EQ(dates("De quoi avons-nous parlé entre mars et mai 2022 ?"), "2022-03-01..2022-05-31");
  EXPECT_EQ(dates("De quoi avons-nous parlé du 3 mai au 6 juin 2021 ?"), "2021-05-03..2021-06-06");
  EXPECT_EQ(dates("¿De qué hablamos entre Pascua y Pentecostés de 2022?"), "2022-04-17..2022-06-05");
  EXPECT_EQ(dates("¿De qué hablamos entre marzo y mayo de 2022?"), "2022-03-01..2022-05-31");
  EXPECT_EQ(dates("¿De qué hablamos del 3 de mayo al 6 de junio de 2021?"), "2021-05-03..2021-06-06");
  EXPECT_EQ(dates("2022年3月到5月我们聊了什么？"), "2022-03-01..2022-05-31");
}

std::string night(const char* question, const char* now = "2024-04-14 15:20") {
  Clock clock;
  clock.now = parse_time_text(now, "test").local;
  const PlainWording plain = plain_wording(question);
  const TimeQuery q = parse_time(plain.text, clock);
  if (q.constraints.size() != 1 || q.constraints[0].ranges.size() != 1)
    return fmt::format("{} constraints: {}", q.constraints.size(), plain.text);
  const TimeRange r = q.constraints[0].ranges[0];
  return time_text(r.lo) + ".." + time_text(r.hi);
}

TEST(Nights, ByBothDays) {
  for (const char* q : {"What did we say in the night of 30 to 31 March?", "in the night from 30 to 31 March",
                        "the night from March 30 to March 31", "the night of the 30th to the 31st of March",
                        "the night between 30 and 31 March", "Was war in der Nacht vom 30. auf den 31. März?",
                        "De quoi avons-nous parlé dans la nuit du 30 au 31 mars ?",
                        "¿De qué hablamos en la noche del 30 al 31 de marzo?"})
    EXPECT_EQ(night(q).substr(0, 10), "2024-03-30") << q << " " << night(q);
  EXPECT_EQ(night("in the night of 30 to 31 March"), "2024-03-30 22:00:00..2024-03-31 04:59:59");
  EXPECT_EQ(night("in the night from Monday to Tuesday"), "2024-04-08 22:00:00..2024-04-09 04:59:59");
  EXPECT_EQ(night("the night from Saturday to Sunday"),
            "2024-04-13 22:00:00..2024-04-14 04:59:59");  // asked on Sunday
  EXPECT_EQ(night("Was war in der Nacht von Montag auf Dienstag?"), "2024-04-08 22:00:00..2024-04-09 04:59:59");
  EXPECT_EQ(night("De quoi avons-nous parlé dans la nuit de lundi à mardi ?"),
            "2024-04-08 22:00:00..2024-04-09 04:59:59");
}

}  // namespace
}  // namespace quern::memory
