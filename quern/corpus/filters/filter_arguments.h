// What stands behind a filter's name and a colon.
#pragma once
#include <string>
#include <vector>

namespace quern::corpus {

// "A:B:C" in `n` parts, from behind: the first, a model's path, may hold colons. `form` is for the error.
std::vector<std::string> filter_arguments(const std::string& all, size_t n, const char* form);
double number_argument(const std::string& word, double min, double max, const char* form);
double probability_argument(const std::string& word, const char* form);  // from 0 to 1

}  // namespace quern::corpus
