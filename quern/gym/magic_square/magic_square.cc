// Environment `magic_square`: the missing numbers of a square of nine whose rows, columns and diagonals have one sum.
// They follow line by line, so there is one solution; from difficulty 3 on the sum is to be found first.
#include <array>

#include "quern/base/error.h"
#include "quern/gym/answer_verdicts.h"
#include "quern/gym/environment_registry.h"
#include "quern/gym/problem_words.h"

namespace quern::gym {
namespace {

constexpr int64_t kEmpty = -1;

struct SquareLine {
  const char* name;
  std::array<size_t, 3> cells;
};
constexpr SquareLine kLines[] = {
    {"row 1", {0, 1, 2}},    {"row 2", {3, 4, 5}},    {"row 3", {6, 7, 8}},        {"column 1", {0, 3, 6}},
    {"column 2", {1, 4, 7}}, {"column 3", {2, 5, 8}}, {"the diagonal", {0, 4, 8}}, {"the other diagonal", {2, 4, 6}}};

using Square = std::vector<int64_t>;

Square square(Rng& r, int64_t d) {
  const int64_t a = between(r, 1, 3 + d), b = between(r, 1, 3 + d), c = a + b + between(r, 1, 5 + 3 * d);
  Square s = {c - b, c + a + b, c - a, c - a + b, c, c + a - b, c + a, c - a - b, c + b};
  const auto turned = [&](std::array<size_t, 9> order) {
    Square out;
    for (size_t i : order) out.push_back(s[i]);
    return out;
  };
  if (r.below(2) == 1) s = turned({6, 7, 8, 3, 4, 5, 0, 1, 2});
  if (r.below(2) == 1) s = turned({0, 3, 6, 1, 4, 7, 2, 5, 8});
  return s;
}

// Fills in lines of which one number is missing, and says how. False: some cannot be found so.
bool solve(Square& s, int64_t sum, std::string& steps) {
  for (bool changed = true; changed;) {
    changed = false;
    for (const SquareLine& line : kLines) {
      size_t missing = 9, empty = 0;
      std::vector<int64_t> known;
      for (size_t at : line.cells) {
        if (s[at] == kEmpty)
          missing = at, ++empty;
        else
          known.push_back(s[at]);
      }
      if (empty != 1) continue;
      s[missing] = sum - known[0] - known[1];
      steps += fmt::format(" In {}: {} - {} - {} = {}.", line.name, sum, known[0], known[1], s[missing]);
      changed = true;
    }
  }
  return std::ranges::find(s, kEmpty) == s.end();
}

// A line without an empty cell; null: there is none.
const SquareLine* full_line(const Square& s) {
  const auto found = std::ranges::find_if(kLines, [&](const SquareLine& line) {
    return std::ranges::none_of(line.cells, [&](size_t at) { return s[at] == kEmpty; });
  });
  return found == std::end(kLines) ? nullptr : found;
}

class MagicSquare : public Environment {
 public:
  Problem generate(Rng& r, int64_t difficulty) const override {
    const Square full = square(r, difficulty);
    const bool sum_given = difficulty < 3;
    const int64_t sum = full[0] + full[1] + full[2], wanted = std::min<int64_t>(2 + difficulty, 5);
    Square shown = full;
    std::vector<size_t> order = {0, 1, 2, 3, 4, 5, 6, 7, 8};
    shuffle(r, order);
    int64_t empty = 0;
    for (size_t at : order) {
      if (empty == wanted) break;
      shown[at] = kEmpty;
      Square tried = shown;
      std::string unused;
      if ((sum_given || full_line(shown) != nullptr) && solve(tried, sum, unused))
        ++empty;
      else
        shown[at] = full[at];
    }
    Problem p;
    std::vector<int64_t> missing;
    for (size_t i = 0; i < 9; ++i) {
      p.key += i == 0 ? "" : i % 3 == 0 ? " / " : " ";
      p.key += shown[i] == kEmpty ? "_" : std::to_string(shown[i]);
      if (shown[i] == kEmpty) missing.push_back(full[i]);
    }
    p.question = fmt::format(
        "In this square of 3 rows, the numbers of each row, each column and both diagonals have the same sum{}. "
        "Rows are separated by a slash, missing numbers are marked _. Write only the missing numbers, row by row "
        "from left to right: {}",
        sum_given ? fmt::format(", {}", sum) : "", p.key);
    if (const SquareLine* line = full_line(shown); line != nullptr && !sum_given)
      p.steps = fmt::format("In {}: {} + {} + {} = {}.", line->name, full[line->cells[0]], full[line->cells[1]],
                            full[line->cells[2]], sum);
    else
      p.steps = fmt::format("The sum is {}.", sum);
    solve(shown, sum, p.steps);
    p.answer = fmt::format("{}", fmt::join(missing, ", "));
    return p;
  }

  Verdict verify(const Problem& p, std::string_view reply) const override { return judge_numbers(p, reply); }
};

}  // namespace

void register_magic_square(EnvironmentRegistry& r) {
  r.add("magic_square", "the missing numbers of a magic square", std::make_unique<MagicSquare>(),
        "logic and constraints");
}

}  // namespace quern::gym
