// Reading final answers that have parts, so that verifiers compare what is said and not how it is written. `text` is
// what final_answer() gives: lower case, single spaces.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quern/gym/environment.h"

namespace quern::gym {

std::vector<std::string> answer_words(std::string_view text);  // separated by blanks, commas or semicolons
std::optional<int64_t> answer_number(std::string_view text);   // "-12" and nothing else; at most 18 digits
std::optional<int64_t> answer_clock(std::string_view text);    // "9:05" as minutes after midnight, below 24:00
std::vector<int64_t> json_numbers(const Json& array);          // of the facts
Json json_array(const std::vector<int64_t>& numbers);          // for the facts
std::optional<std::vector<int64_t>> answer_numbers(std::string_view text);  // one or more, and nothing else

// Verifiers of problems with one right answer, in any of its forms: p.answer is read the same way as the reply.
Verdict judge_number(const Problem& p, std::string_view reply);
Verdict judge_numbers(const Problem& p, std::string_view reply);  // a list in its order
Verdict judge_words(const Problem& p, std::string_view reply);    // a list in its order
Verdict judge_set(const Problem& p, std::string_view reply);      // a list in any order, none of them twice

}  // namespace quern::gym
