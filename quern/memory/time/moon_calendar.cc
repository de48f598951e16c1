#include "quern/memory/time/moon_calendar.h"

#include <cmath>
#include <numbers>
#include <vector>

namespace quern::memory {
namespace {

constexpr double kEpoch = 2440587.5;       // Julian date of 1970-01-01
constexpr double kChina = 8.0 / 24.0;      // of a day, east of Greenwich
constexpr double kClock = 68.0 / 86400.0;  // the earth's clock is behind the even one: a minute, these centuries
constexpr double kMonth = 29.530588861;    // days from new moon to new moon
constexpr double kFirstNewMoon = 2451550.09766;  // of January 2000
constexpr double kYear = 365.2422;
constexpr int kFirstYear = 1900, kLastYear = 2100;

double radians(double degrees) { return degrees * std::numbers::pi / 180.0; }
double centuries(double julian) { return (julian - 2451545.0) / 36525.0; }
Day china_day(double julian) { return static_cast<Day>(std::floor(julian - kClock + kChina - kEpoch)); }
double china_midnight(Day d) { return d + kEpoch - kChina + kClock; }

double sun_longitude(double julian) {
  const double t = centuries(julian);
  const double mean = 280.46646 + 36000.76983 * t + 0.0003032 * t * t;
  const double anomaly = radians(357.52911 + 35999.05029 * t - 0.0001537 * t * t);
  const double center = (1.914602 - 0.004817 * t) * std::sin(anomaly) +
                        (0.019993 - 0.000101 * t) * std::sin(2 * anomaly) + 0.000289 * std::sin(3 * anomaly);
  const double apparent = mean + center - 0.00569 - 0.00478 * std::sin(radians(125.04 - 1934.136 * t));
  return apparent - 360.0 * std::floor(apparent / 360.0);
}

// The k-th new moon after that of January 2000.
double new_moon(int k) {
  const double t = k / 1236.85, t2 = t * t;
  const double e = 1.0 - 0.002516 * t - 0.0000074 * t2;
  const double sun = radians(2.5534 + 29.10535670 * k - 0.0000014 * t2),
               moon = radians(201.5643 + 385.81693528 * k + 0.0107582 * t2),
               node = radians(160.7108 + 390.67050284 * k - 0.0016118 * t2),
               ascending = radians(124.7746 - 1.56375588 * k + 0.0020672 * t2);
  double days = kFirstNewMoon + kMonth * k + 0.00015437 * t2;
  days += -0.40720 * std::sin(moon) + 0.17241 * e * std::sin(sun) + 0.01608 * std::sin(2 * moon) +
          0.01039 * std::sin(2 * node) + 0.00739 * e * std::sin(moon - sun) - 0.00514 * e * std::sin(moon + sun) +
          0.00208 * e * e * std::sin(2 * sun) - 0.00111 * std::sin(moon - 2 * node) -
          0.00057 * std::sin(moon + 2 * node) + 0.00056 * e * std::sin(2 * moon + sun) -
          0.00042 * std::sin(3 * moon) + 0.00042 * e * std::sin(sun + 2 * node) +
          0.00038 * e * std::sin(sun - 2 * node) - 0.00024 * e * std::sin(2 * moon - sun) -
          0.00017 * std::sin(ascending);
  days += 0.000325 * std::sin(radians(299.77 + 0.107408 * k - 0.009173 * t2)) +
          0.000165 * std::sin(radians(251.88 + 0.016321 * k));
  return days;
}

// The number of the last new moon that falls on the day or before it.
int new_moon_before(Day d) {
  int k = static_cast<int>(std::floor((china_midnight(d) - kFirstNewMoon) / kMonth)) + 2;
  while (china_day(new_moon(k)) > d) --k;
  return k;
}

}  // namespace

std::optional<Day> solar_term(int degrees, int year) {
  if (year < kFirstYear || year > kLastYear) return std::nullopt;
  // from the first of January, where the sun stands at about 280 degrees
  double at = china_midnight(day_of(year, 1, 1)) + std::fmod(degrees - 280.0 + 360.0, 360.0) / 360.0 * kYear;
  for (int n = 0; n < 6; ++n) {
    const double off = std::remainder(degrees - sun_longitude(at), 360.0);
    at += off / 360.0 * kYear;
  }
  return china_day(at);
}

std::optional<Day> moon_day(int year, int month, int day) {
  const std::optional<Day> before = solar_term(270, year - 1), after = solar_term(270, year);
  if (!before || !after || month < 1 || month > 12 || day < 1 || day > 30) return std::nullopt;
  const int first = new_moon_before(*before), last = new_moon_before(*after);  // both begin eleventh months
  int leap = last - first == 13 ? 13 : 0;  // thirteen months: the first in which no double hour of the sun begins
  for (int i = 1; leap == 13 && i < 13; ++i) {
    const double from = sun_longitude(china_midnight(china_day(new_moon(first + i)))),
                 to = sun_longitude(china_midnight(china_day(new_moon(first + i + 1))));
    if (std::floor(from / 30.0) == std::floor(to / 30.0)) leap = i;
  }
  int steps = (month + 1) % 12;  // from the eleventh
  if (leap && steps >= leap) ++steps;
  const Day begin = china_day(new_moon(first + steps));
  if (day == 30 && china_day(new_moon(first + steps + 1)) - begin < 30) return std::nullopt;
  return begin + day - 1;
}

}  // namespace quern::memory
