#include "quern/gym/answer_forms.h"

#include <algorithm>
#include <charconv>

#include "quern/base/error.h"

namespace quern::gym {
namespace {

Verdict compared(bool same, std::string_view given, const Problem& p) {
  if (given.empty()) return {0, "no answer"};
  if (same) return {1, "the answer is right"};
  return {0, fmt::format("expected '{}'", p.answer)};
}

}  // namespace

std::vector<std::string> answer_words(std::string_view text) {
  constexpr std::string_view kBetween = " ,;";
  std::vector<std::string> out;
  for (size_t at = 0; (at = text.find_first_not_of(kBetween, at)) != text.npos;) {
    const size_t end = std::min(text.find_first_of(kBetween, at), text.size());
    out.emplace_back(text.substr(at, end - at));
    at = end;
  }
  return out;
}

std::optional<int64_t> answer_number(std::string_view text) {
  const std::string_view digits = text.starts_with('-') ? text.substr(1) : text;
  if (digits.empty() || digits.size() > 18 || digits.find_first_not_of("0123456789") != digits.npos) return {};
  int64_t n = 0;
  std::from_chars(text.data(), text.data() + text.size(), n);
  return n;
}

std::optional<int64_t> answer_clock(std::string_view text) {
  const size_t colon = text.find(':');
  if (colon == text.npos || colon > 2 || text.size() != colon + 3 || text.find('-') != text.npos) return {};
  const auto hours = answer_number(text.substr(0, colon)), minutes = answer_number(text.substr(colon + 1));
  if (!hours || !minutes || *hours > 23 || *minutes > 59) return {};
  return *hours * 60 + *minutes;
}

std::optional<std::vector<int64_t>> answer_numbers(std::string_view text) {
  std::vector<int64_t> out;
  for (const std::string& word : answer_words(text)) {
    const auto n = answer_number(word);
    if (!n) return {};
    out.push_back(*n);
  }
  if (out.empty()) return {};
  return out;
}

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
  const auto n = answer_number(given);
  if (!given.empty() && !n) return {0, "the answer is not a whole number"};
  return compared(n && n == answer_number(final_answer(p.answer)), given, p);
}

Verdict judge_numbers(const Problem& p, std::string_view reply) {
  const std::string given = final_answer(reply);
  const auto n = answer_numbers(given);
  if (!given.empty() && !n) return {0, "the answer is not a list of whole numbers"};
  return compared(n && n == answer_numbers(final_answer(p.answer)), given, p);
}

Verdict judge_words(const Problem& p, std::string_view reply) {
  const std::string given = final_answer(reply);
  const auto words = answer_words(given);
  return compared(!words.empty() && words == answer_words(final_answer(p.answer)), given, p);
}

Verdict judge_set(const Problem& p, std::string_view reply) {
  const std::string given = final_answer(reply);
  std::vector<std::string> words = answer_words(given), right = answer_words(final_answer(p.answer));
  std::ranges::sort(words), std::ranges::sort(right);
  if (std::ranges::adjacent_find(words) != words.end()) return {0, "the answer names something twice"};
  return compared(!words.empty() && words == right, given, p);
}

}  // namespace quern::gym
