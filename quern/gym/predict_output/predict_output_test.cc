// The function and the argument are read out of the question and evaluated as text; the generator computes by operations.
#include <gtest/gtest.h>

#include <regex>

#include "quern/code/expression.h"
#include "quern/gym/check_environment.h"

namespace quern::gym {
namespace {

std::string value_asked(const std::string& question) {
  static const std::regex parts("What is f\\((.*?)\\)\\? (f\\((.*?)\\) = .*)");
  std::smatch m;
  if (!std::regex_search(question, m, parts)) return "no question";
  const std::string given = m[1];
  const bool list = given.starts_with('['), has_k = m[3] == "x, k";
  std::vector<code::ValueType> types = {list ? code::ValueType::list : code::ValueType::number};
  std::vector<std::string> names = {"x"};
  if (has_k) names.emplace_back("k"), types.push_back(code::ValueType::number);
  const code::InputFormat format{.type = types[0], .max_k = has_k ? 9 : 0};
  const auto a = format.read(given);
  if (!a) return "no arguments";
  return text_of(evaluate(code::parse_function(m[2].str(), names, types), *a).value);
}

// The numbers of "[1, 2]" or "1, 2"; nothing where the text is no value.
std::optional<std::vector<long>> plain_value(const std::string& text) {
  static const std::regex number("-?\\d+"), form(" *-?\\d{1,18} *(, *-?\\d{1,18} *)*");
  const bool bracketed = text.size() > 1 && text.front() == '[' && text.back() == ']';
  const std::string inside = bracketed ? text.substr(1, text.size() - 2) : text;
  std::vector<long> out;
  if (bracketed && inside.find_first_not_of(' ') == inside.npos) return out;
  if (!std::regex_match(inside, form)) return {};
  for (std::sregex_iterator i(inside.begin(), inside.end(), number), end; i != end; ++i)
    out.push_back(std::stol(i->str()));
  return out;
}

TEST(PredictOutput, AsksWhatTheTextGives) {
  each_generated("predict_output", [](const Problem& p) { EXPECT_EQ(p.answer, value_asked(p.question)); });
}

TEST(PredictOutput, JudgesMutatedAnswers) {
  check_mutations("predict_output", [](const Problem& p, const std::string& given) {
    const auto v = plain_value(given);
    const bool list = p.answer[0] == '[';
    return v && v == plain_value(p.answer) && (list || given.find('[') == given.npos);
  });
}

TEST(PredictOutput, HasTheProperties) { check_environment("predict_output"); }

}  // namespace
}  // namespace quern::gym
