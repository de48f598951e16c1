// Sizes and times for people.
#pragma once
#include <string>

namespace quern::measure {

std::string size_text(double bytes);  // "8 B", "1.4 MiB"
std::string time_text(double s);      // "12.3 us", "4.56 ms"

}  // namespace quern::measure
