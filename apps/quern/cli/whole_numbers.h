// A repeatable flag of whole numbers: from 1 to `most` each, or `otherwise` when it was not given.
#pragma once
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "apps/quern/cli/args.h"

namespace quern::cli {

inline std::vector<int64_t> whole_numbers(const std::vector<std::string>& words, const char* flag,
                                          std::vector<int64_t> otherwise,
                                          int64_t maximum = std::numeric_limits<int64_t>::max()) {
  if (words.empty()) return otherwise;
  std::vector<int64_t> out;
  for (const std::string& w : words) {
    size_t used = 0;
    int64_t n = 0;
    try {
      n = std::stoll(w, &used);
    } catch (const std::logic_error&) {
    }
    if (w.empty() || used != w.size() || n < 1 || n > maximum)
      throw UsageError(maximum == std::numeric_limits<int64_t>::max()
                           ? fmt::format("{} '{}': expected a whole number of 1 or more", flag, w)
                           : fmt::format("{} '{}': expected a whole number from 1 to {}", flag, w, maximum));
    out.push_back(n);
  }
  return out;
}

}  // namespace quern::cli
