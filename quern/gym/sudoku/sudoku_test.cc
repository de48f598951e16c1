// The grid is read out of the question. A plain search, cell by cell, finds its only solution.
#include <gtest/gtest.h>

#include <set>

#include "quern/gym/verifier_checks.h"

namespace quern::gym {
namespace {

struct Search {
  size_t n = 0, box = 0;
  std::vector<int> cell, empty;  // 0 where empty
  std::vector<std::vector<std::string>> found;

  bool fits(size_t at, int v) const {
    for (size_t i = 0; i < cell.size(); ++i) {
      const bool same_box = at / n / box == i / n / box && at % n / box == i % n / box;
      if (i != at && cell[i] == v && (at / n == i / n || at % n == i % n || same_box)) return false;
    }
    return true;
  }
  void solve(size_t k) {
    if (found.size() > 1) return;
    if (k == empty.size()) {
      found.emplace_back();
      for (int at : empty) found.back().push_back(std::to_string(cell[static_cast<size_t>(at)]));
      return;
    }
    const auto at = static_cast<size_t>(empty[k]);
    for (int v = 1; v <= static_cast<int>(n); ++v) {
      if (!fits(at, v)) continue;
      cell[at] = v;
      solve(k + 1);
      cell[at] = 0;
    }
  }
};

std::vector<std::string> solution(const std::string& question) {
  std::string text = question.substr(question.rfind(": ") + 2);
  Search s;
  s.n = static_cast<size_t>(std::ranges::count(text, '/')) + 1, s.box = s.n == 4 ? 2 : 3;
  std::ranges::replace(text, '/', ' ');
  for (const std::string& w : plain_answer_words(text)) {
    if (w == "_") s.empty.push_back(static_cast<int>(s.cell.size()));
    s.cell.push_back(w == "_" ? 0 : std::stoi(w));
  }
  if (s.cell.size() == s.n * s.n) s.solve(0);
  return s.found.size() == 1 ? s.found[0] : std::vector<std::string>{};
}

TEST(Sudoku, HasOneSolution) {
  std::string question;
  std::vector<std::string> found;
  const auto right = [&](const Problem& p, const std::string& given) {
    if (p.question != question) question = p.question, found = solution(question);
    return !found.empty() && plain_answer_words(given) == found;
  };
  check_verifier("sudoku", right, {.seeds = 200, .difficulties = {0, 1, 2, 3, 4, 5, 8, 10}});
}
TEST(Sudoku, HasTheProperties) { check_environment("sudoku", {.seeds = 100}); }

}  // namespace
}  // namespace quern::gym
