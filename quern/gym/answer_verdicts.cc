#include "quern/gym/answer_verdicts.h"

#include <algorithm>
#include <string>

#include "quern/base/error.h"

namespace quern::gym {
namespace {

Verdict compared(bool same, const Problem& p) {
  if (same) return {1, "the answer is right"};
  return {0, fmt::format("expected '{}'", p.answer)};
}

}  // namespace

std::vector<int64_t> json_numbers(const Json& array) {
  std::vector<int64_t> out;
  for (const Json& x : array.as_array()) out.push_back(x.as_int());
  return out;
}

Json json_array(const std::vector<int64_t>& numbers) {
  Json out = Json::array();
  for (int64_t x : numbers) out.push(x);
  return out;
}

Verdict judge_number(const Problem& p, std::string_view reply) {
  const std::string given = final_answer(reply);
  if (given.empty()) return {0, "no answer"};
  const auto n = answer_number(given);
  if (!n) return {0, "the answer is not a whole number"};
  return compared(n == answer_number(final_answer(p.answer)), p);
}

Verdict judge_numbers(const Problem& p, std::string_view reply) {
  const std::string given = final_answer(reply);
  if (given.empty()) return {0, "no answer"};
  const auto n = answer_numbers(given);
  if (!n) return {0, "the answer is not a list of whole numbers"};
  return compared(n == answer_numbers(final_answer(p.answer)), p);
}

Verdict judge_words(const Problem& p, std::string_view reply) {
  const std::string given = final_answer(reply);
  if (given.empty()) return {0, "no answer"};
  const auto words = answer_words(given);
  return compared(!words.empty() && words == answer_words(final_answer(p.answer)), p);
}

Verdict judge_set(const Problem& p, std::string_view reply) {
  const std::string given = final_answer(reply);
  if (given.empty()) return {0, "no answer"};
  std::vector<std::string> words = answer_words(given), right = answer_words(final_answer(p.answer));
  std::ranges::sort(words), std::ranges::sort(right);
  if (std::ranges::adjacent_find(words) != words.end()) return {0, "the answer names something twice"};
  return compared(!words.empty() && words == right, p);
}

Verdict judge_integer(const Problem& p, std::string_view reply) {
  const std::optional<int64_t> v = integer_in(final_answer(reply));
  if (!v) return {0, "the answer is not one whole number"};
  return compared(v == integer_in(p.answer), p);
}

Verdict judge_integers(const Problem& p, std::string_view reply) {
  const std::vector<int64_t> v = integers_in(final_answer(reply));
  if (v.empty()) return {0, "the answer is not a list of whole numbers"};
  return compared(v == integers_in(p.answer), p);
}

Verdict judge_ratio(const Problem& p, std::string_view reply) {
  const std::optional<Ratio> v = ratio_in(final_answer(reply));
  if (!v) return {0, "the answer is not one number"};
  return compared(v == ratio_in(p.answer), p);
}

}  // namespace quern::gym
