// The function and the format are read out of the question; every reply is judged by evaluating the text.
#include <gtest/gtest.h>

#include <regex>

#include "quern/code/expression.h"
#include "quern/gym/check_environment.h"

namespace quern::gym {
namespace {

struct Asked {
  code::ListFunction function;
  code::InputFormat format;
  std::string target;
};

Asked asked(const std::string& question) {
  static const std::regex parts(
      "(f\\((x|x, k)\\) = .*)\\. Give .* for which f\\(.*\\) is (.*), where x is (.*)\\. If");
  static const std::regex numbers("-?\\d+");
  std::smatch m;
  if (!std::regex_search(question, m, parts)) throw std::runtime_error(question);
  const std::string format = m[4];
  std::vector<int64_t> n;
  for (std::sregex_iterator i(format.begin(), format.end(), numbers), end; i != end; ++i)
    n.push_back(std::stoll(i->str()));
  Asked a;
  a.target = m[3];
  const bool list = format.starts_with("a list");
  a.format.type = list ? code::ValueType::list : code::ValueType::number;
  if (list) a.format.length = n.at(0), n.erase(n.begin());
  a.format.lowest = n.at(0), a.format.highest = n.at(1);
  std::vector<std::string> names = {"x"};
  std::vector<code::ValueType> types = {a.format.type};
  if (m[2] == "x, k") a.format.max_k = n.at(3), names.emplace_back("k"), types.push_back(code::ValueType::number);
  a.function = code::parse_function(m[1].str(), names, types);
  return a;
}

bool gives_it(const Problem& p, const std::string& given) {
  const Asked a = asked(p.question);
  const auto arguments = a.format.read(given);
  return arguments && a.format.admits(*arguments) && text_of(evaluate(a.function, *arguments).value) == a.target;
}

TEST(InvertFunction, JudgesMutatedAnswers) { check_mutations("invert_function", gives_it); }

TEST(InvertFunction, JudgesManyInputs) {
  const NamedEnvironment& e = plugin_environments().find("invert_function");
  int right = 0, several = 0;
  Rng r(4);
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const Problem p = e.generate(seed, static_cast<int64_t>(seed % 9));
    const Asked a = asked(p.question);
    EXPECT_TRUE(gives_it(p, p.answer)) << plain_form(p);
    int found = 0;
    for (const code::Arguments& x : a.format.tests(r, 100)) {
      const Verdict v = e.verify(p, text_of(x));
      EXPECT_EQ(v.reward, gives_it(p, text_of(x)) ? 1 : 0) << p.question << text_of(x) << v.reason;
      found += v.reward == 1 ? 1 : 0;
    }
    right += found, several += found > 1 ? 1 : 0;
  }
  EXPECT_GT(right, 0);
  EXPECT_GT(several, 0);
}

TEST(InvertFunction, TellsWhatIsWrong) {
  const NamedEnvironment& e = plugin_environments().find("invert_function");
  const Problem p = e.generate(1, 0);
  EXPECT_EQ(e.verify(p, "").reason, "the answer does not read as arguments");
  const std::string far = p.answer.starts_with('[') ? "[1000]" : "1000";
  EXPECT_EQ(e.verify(p, far).reason, "f(" + far + ") is not within the stated format");
}

TEST(InvertFunction, HasTheProperties) { check_environment("invert_function", {.wrong = 1}); }

}  // namespace
}  // namespace quern::gym
