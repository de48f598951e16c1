// A reply is put into the square of the question, and its eight sums are compared. That nothing else fits: the missing
// numbers are the solution of linear equations that have full rank.
#include <gtest/gtest.h>

#include "quern/gym/verifier_checks.h"

namespace quern::gym {
namespace {

constexpr int kSums[8][3] = {{0, 1, 2}, {3, 4, 5}, {6, 7, 8}, {0, 3, 6}, {1, 4, 7}, {2, 5, 8}, {0, 4, 8}, {2, 4, 6}};

std::vector<std::string> cells(const Problem& p) {
  std::string text = p.question.substr(p.question.rfind(": ") + 2);
  std::ranges::replace(text, '/', ' ');
  return plain_answer_words(text);
}

bool completes(const Problem& p, const std::string& given) {
  const std::vector<std::string> shown = cells(p), words = plain_answer_words(given);
  std::vector<int64_t> square;
  size_t used = 0;
  for (const std::string& cell : shown) {
    if (cell == "_" && used == words.size()) return false;
    const std::string& w = cell == "_" ? words[used++] : cell;
    static const std::regex number("-?\\d{1,18}");
    if (!std::regex_match(w, number)) return false;
    square.push_back(std::stoll(w));
  }
  if (square.size() != 9 || used != words.size()) return false;
  std::vector<int64_t> sums;
  for (const auto& s : kSums) {
    int64_t sum = 0;
    for (int at : s) sum += square[static_cast<size_t>(at)];
    sums.push_back(sum);
  }
  static const std::regex stated("the same sum, (\\d+)\\.");
  if (std::smatch m; std::regex_search(p.question, m, stated)) sums.push_back(std::stoll(m[1]));
  return std::ranges::count(sums, sums[0]) == static_cast<std::ptrdiff_t>(sums.size());
}

// The rank of "every line has the sum" in the missing numbers, and in the sum where it is not stated.
size_t rank_of(const std::vector<std::string>& shown, bool sum_stated) {
  std::vector<std::vector<double>> m;
  for (const auto& s : kSums) {
    std::vector<double> row(10, 0);
    for (int at : s) row[static_cast<size_t>(at)] = shown[static_cast<size_t>(at)] == "_" ? 1 : 0;
    row[9] = sum_stated ? 0 : -1;
    m.push_back(row);
  }
  size_t rank = 0;
  for (size_t column = 0; column < 10; ++column) {
    size_t pivot = rank;
    while (pivot < m.size() && std::abs(m[pivot][column]) < 1e-9) ++pivot;
    if (pivot == m.size()) continue;
    std::swap(m[rank], m[pivot]);
    for (size_t i = 0; i < m.size(); ++i)
      for (size_t j = 10; i != rank && j-- > column;) m[i][j] -= m[i][column] / m[rank][column] * m[rank][j];
    ++rank;
  }
  return rank;
}

TEST(MagicSquare, IsRight) { check_verifier("magic_square", completes); }
TEST(MagicSquare, HasTheProperties) { check_environment("magic_square"); }

TEST(MagicSquare, HasOneSolution) {
  const NamedEnvironment& e = plugin_environments().find("magic_square");
  for (int64_t d : {0, 1, 2, 3, 4, 5, 8, 13})
    for (uint64_t seed = 0; seed < 200; ++seed) {
      const Problem p = e.generate(seed, d);
      const std::vector<std::string> shown = cells(p);
      const auto missing = static_cast<size_t>(std::ranges::count(shown, "_"));
      const bool stated = p.question.find("the same sum, ") != std::string::npos;
      EXPECT_GE(missing, 2u);
      EXPECT_EQ(rank_of(shown, stated), missing + (stated ? 0 : 1)) << p.question;
    }
}

}  // namespace
}  // namespace quern::gym
