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

// A list with its brackets, or a number, without blanks and zeros in front; empty where the text is neither.
std::string plain_value(const std::string& text) {
  static const std::regex number("-?\\d+"), form(" *-?\\d{1,18} *"),
      list("\\[( *| *-?\\d{1,18} *(, *-?\\d{1,18} *)*)\\]");
  if (!std::regex_match(text, form) && !std::regex_match(text, list)) return "";
  std::string out = text.substr(0, text[0] == '[' ? 1 : 0);
  for (std::sregex_iterator i(text.begin(), text.end(), number), end; i != end; ++i)
    out += std::to_string(std::stol(i->str())) + " ";
  return out;
}

TEST(PredictOutput, AsksWhatTheTextGives) {
  each_generated("predict_output", [](const Problem& p) { EXPECT_EQ(p.answer, value_asked(p.question)); });
}

TEST(PredictOutput, JudgesMutatedAnswers) {
  check_mutations("predict_output", [](const Problem& p, const std::string& given) {
    return !plain_value(given).empty() && plain_value(given) == plain_value(p.answer);
  });
}

TEST(PredictOutput, HasTheProperties) { check_environment("predict_output"); }

}  // namespace
}  // namespace quern::gym
