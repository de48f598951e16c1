// The Chinese calendar of months by the moon, from the positions of sun and moon: feasts whose day no table of ours names.
// Mean new moons and the sun's longitude with their largest terms (as in Meeus, Astronomical Algorithms, chapters 25 and
// 49), in China's time. Years 1900 to 2100. Cost: some forty sines a year.
#pragma once
#include <optional>

#include "quern/memory/time/calendar.h"

namespace quern::memory {

// The day of the Gregorian year on which the sun stands at so many degrees: 0 is the equinox of spring, 270 the solstice
// of winter.
std::optional<Day> solar_term(int degrees, int year);
// A month and day by the moon between the solstices of winter of two Gregorian years: months 1 to 10 are of the year that
// begins in `year`, 11 and 12 lie before its first day. Leap months are none of ours.
std::optional<Day> moon_day(int year, int month, int day);

}  // namespace quern::memory
