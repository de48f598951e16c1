// Which positions are won is found by playing out every game of few stones.
#include <gtest/gtest.h>

#include <map>

#include "quern/gym/verifier_checks.h"

namespace quern::gym {
namespace {

using Heaps = std::vector<int>;

bool won(Heaps heaps) {  // for the player to move
  static std::map<Heaps, bool> known;
  std::ranges::sort(heaps);
  if (auto found = known.find(heaps); found != known.end()) return found->second;
  bool result = false;
  for (size_t i = 0; i < heaps.size() && !result; ++i)
    for (int left = 0; left < heaps[i] && !result; ++left) {
      Heaps next = heaps;
      next[i] = left;
      result = !won(next);
    }
  return known[heaps] = result;
}

Heaps heaps_of(const Problem& p) {
  static const std::regex parts("hold (.*) stones\\. It is");
  std::smatch m;
  Heaps out;
  if (std::regex_search(p.question, m, parts))
    for (const std::string& w : plain_answer_words(m[1])) out.push_back(std::stoi(w));
  return out;
}

bool is_winning(const Problem& p, const std::string& given) {
  Heaps heaps = heaps_of(p);
  if (given == "none") return !won(heaps);
  const auto words = plain_answer_words(given);
  static const std::regex number("\\d{1,6}");
  if (words.size() != 2 || !std::regex_match(words[0], number) || !std::regex_match(words[1], number)) return false;
  const int heap = std::stoi(words[0]), stones = std::stoi(words[1]);
  if (heap < 1 || heap > static_cast<int>(heaps.size()) || stones < 1) return false;
  int& left = heaps[static_cast<size_t>(heap - 1)];
  if (stones > left) return false;
  left -= stones;
  return !won(heaps);
}

TEST(Nim, IsRight) { check_verifier("nim", is_winning, {.seeds = 400, .difficulties = {0, 1, 2, 3}}); }
TEST(Nim, HasTheProperties) { check_environment("nim", {.wrong = 1}); }  // another problem's move may win

TEST(Nim, JudgesEveryMove) {
  const NamedEnvironment& e = plugin_environments().find("nim");
  int none = 0, several = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const Problem p = e.generate(seed, static_cast<int64_t>(seed % 4));
    const Heaps heaps = heaps_of(p);
    int right = 0;
    for (size_t heap = 0; heap < heaps.size(); ++heap)
      for (int stones = 1; stones <= heaps[heap]; ++stones) {
        const std::string move = fmt::format("{} {}", heap + 1, stones);
        EXPECT_EQ(e.verify(p, move).reward, is_winning(p, move) ? 1 : 0) << p.question << move;
        right += is_winning(p, move) ? 1 : 0;
      }
    EXPECT_EQ(e.verify(p, "none").reward, right == 0 ? 1 : 0);
    none += right == 0 ? 1 : 0, several += right > 1 ? 1 : 0;
  }
  EXPECT_GT(none, 30);
  EXPECT_LT(none, 200);
  EXPECT_GT(several, 0);
}

}  // namespace
}  // namespace quern::gym
