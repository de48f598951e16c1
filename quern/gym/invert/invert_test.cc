// The steps are read out of the question and applied to the reply; each is one to one, so no other list gives the same.
#include <gtest/gtest.h>

#include "quern/gym/verifier_checks.h"

namespace quern::gym {
namespace {

bool gives_the_result(const Problem& p, const std::string& given) {
  static const std::regex parts("these steps: (.*)\\. The result is (.*)\\. What"), number("-?\\d{1,18}");
  std::smatch m;
  if (!std::regex_search(p.question, m, parts)) return false;
  std::vector<long> v, result;
  for (const std::string& w : plain_answer_words(m[2])) result.push_back(std::stol(w));
  for (const std::string& w : plain_answer_words(given)) {
    if (!std::regex_match(w, number)) return false;
    v.push_back(std::stol(w));
  }
  if (v.size() != result.size()) return false;
  std::istringstream steps(m[1]);
  for (std::string step; std::getline(steps, step, ';');) {
    const size_t n = v.size();
    std::vector<long> next = v;
    if (step.find("reverse") != step.npos) {
      for (size_t i = 0; i < n; ++i) next[i] = v[n - 1 - i];
    } else if (step.find("move the first") != step.npos) {
      for (size_t i = 0; i < n; ++i) next[i] = v[(i + 1) % n];
    } else if (step.find("swap") != step.npos) {
      next[0] = v[n - 1], next[n - 1] = v[0];
    } else {
      for (long& x : next) x += std::stol(step.substr(step.find("add ") + 4));
    }
    v = next;
  }
  return v == result;
}

TEST(Invert, IsRight) { check_verifier("invert", gives_the_result); }
TEST(Invert, HasTheProperties) { check_environment("invert"); }

}  // namespace
}  // namespace quern::gym
