// All of standard input, for flags and arguments that take "-".
#pragma once
#include <iostream>
#include <iterator>
#include <string>

namespace quern::cli {

inline std::string standard_input() { return std::string(std::istreambuf_iterator<char>(std::cin), {}); }

}  // namespace quern::cli
