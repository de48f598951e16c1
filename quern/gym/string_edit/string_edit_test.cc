// The distance is found again by recursion from the ends of the words, with its results kept.
#include <gtest/gtest.h>

#include <map>

#include "quern/gym/verifier_checks.h"

namespace quern::gym {
namespace {

class Distance {
 public:
  Distance(std::string a, std::string b) : a_(std::move(a)), b_(std::move(b)) {}
  int operator()() { return of(a_.size(), b_.size()); }

 private:
  int of(size_t i, size_t j) {
    if (i == 0 || j == 0) return static_cast<int>(i + j);
    if (auto known = known_.find({i, j}); known != known_.end()) return known->second;
    const int n =
        a_[i - 1] == b_[j - 1] ? of(i - 1, j - 1) : 1 + std::min({of(i - 1, j - 1), of(i - 1, j), of(i, j - 1)});
    return known_[{i, j}] = n;
  }
  std::string a_, b_;
  std::map<std::pair<size_t, size_t>, int> known_;
};

TEST(StringEdit, IsRight) {
  static const std::regex words("turns ([a-z]+) into ([a-z]+)\\?");
  std::string question, found;
  check_verifier("string_edit", [&](const Problem& p, const std::string& given) {
    std::smatch m;
    if (p.question != question && std::regex_search(p.question, m, words))
      question = p.question, found = std::to_string(Distance(m[1], m[2])());
    return plain_answer_words(given) == std::vector<std::string>{found} && given.find_first_of(" ,;") == given.npos;
  });
}
TEST(StringEdit, HasTheProperties) { check_environment("string_edit"); }

}  // namespace
}  // namespace quern::gym
