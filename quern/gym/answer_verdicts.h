// What verifiers of environments share: reading numbers and words out of answers (quern/verify), and the verdicts on
// problems with one right answer, in any of its forms: p.answer is read the same way as the reply.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "quern/gym/environment.h"
#include "quern/verify/answer_numbers.h"
#include "quern/verify/answer_text.h"

namespace quern::gym {

using verify::answer_clock;
using verify::answer_number;
using verify::answer_numbers;
using verify::answer_words;
using verify::integer_in;
using verify::integers_in;
using verify::pieces_of;
using verify::Ratio;
using verify::ratio_in;
using verify::ratio_of;
using verify::ratio_text;

std::vector<int64_t> json_numbers(const Json& array);  // of the facts
Json json_array(const std::vector<int64_t>& numbers);  // for the facts

Verdict judge_number(const Problem& p, std::string_view reply);    // by answer_number
Verdict judge_numbers(const Problem& p, std::string_view reply);   // by answer_numbers, in their order
Verdict judge_integer(const Problem& p, std::string_view reply);   // by integer_in
Verdict judge_integers(const Problem& p, std::string_view reply);  // by integers_in, in their order
Verdict judge_ratio(const Problem& p, std::string_view reply);     // by ratio_in
Verdict judge_words(const Problem& p, std::string_view reply);     // a list in its order
Verdict judge_set(const Problem& p, std::string_view reply);       // a list in any order, none of them twice

}  // namespace quern::gym
