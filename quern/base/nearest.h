// "Did you mean …": the candidate with the smallest edit distance, for unknown keys, flags, verbs and names.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace quern {

// Empty when nothing is close (more than a third of the letters, and more than two, differ).
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);
std::string did_you_mean(std::string_view word,
                         const std::vector<std::string>& candidates);  // "; did you mean 'x'?" or ""

}  // namespace quern
