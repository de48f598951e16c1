// Squares are reached again by going from square to square as deep as it goes.
#include <functional>

#include "quern/gym/answer_checks.h"
#include "quern/gym/check_environment.h"

namespace quern::gym {
namespace {

TEST(FloodFill, IsRight) {
  each_generated("flood_fill",
                 [](const Problem& p) {
                   std::vector<std::string> rows(1);
                   const size_t from = p.question.find("top: ") + 5;
                   for (char c : p.question.substr(from, p.question.find(". You") - from)) {
                     if (c == '/') rows.emplace_back();
                     if (c == '.' || c == '#') rows.back() += c;
                   }
                   const auto start = numbers_of(p.question, "row (\\d+), column (\\d+)").at(0);
                   for (const std::string& row : rows) ASSERT_EQ(row.size(), rows.size());
                   ASSERT_EQ(std::ssize(rows), p.difficulty / 2 + 4);
                   int64_t count = 0;
                   const std::function<void(int64_t, int64_t)> go = [&](int64_t y, int64_t x) {
                     if (y < 0 || x < 0 || y >= std::ssize(rows) || x >= std::ssize(rows)) return;
                     char& c = rows[static_cast<size_t>(y)][static_cast<size_t>(x)];
                     if (c != '.') return;
                     c = '#', ++count;
                     go(y + 1, x), go(y - 1, x), go(y, x + 1), go(y, x - 1);
                   };
                   go(start[0] - 1, start[1] - 1);
                   EXPECT_GT(count, 0);
                   EXPECT_EQ(p.answer, std::to_string(count));
                   EXPECT_EQ(plugin_environments().find("flood_fill").verify(p, std::to_string(count + 1)).reward, 0);
                 },
                 {0, 1, 2, 3, 5, 8, 12, 60});
}

TEST(FloodFill, RefusesMutations) { check_mutations("flood_fill", is_the_integer); }

TEST(FloodFill, HasTheProperties) { check_environment("flood_fill"); }

}  // namespace
}  // namespace quern::gym
