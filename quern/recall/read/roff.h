// Words and escapes of roff, which man pages are written in.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace quern::recall {

std::string roff_text(std::string_view line);                    // escapes become what they print
std::vector<std::string> roff_arguments(std::string_view rest);  // of a request; "two words" are one

}  // namespace quern::recall
