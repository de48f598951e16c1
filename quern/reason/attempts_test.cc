// Aggregation examples: what is planted, what is shown, what is asked for.
#include <gtest/gtest.h>

#include "quern/base/error.h"
#include "quern/base/json.h"
#include "quern/gym/curriculum_problems.h"
#include "quern/reason/attempts.h"
#include "quern/text/chat/aggregation_prompt.h"

namespace quern::reason {
namespace {

TEST(Attempts, AFlawChangesTheWorkingAndKeepsItsLength) {
  int changed = 0, answer_lost = 0;
  constexpr int kTries = 600;
  for (uint64_t i = 0; i < kTries; ++i) {
    const gym::Problem p = gym::curriculum_problem({.seed = 5}, i);
    Rng r(9, i);
    const std::string flawed = flawed_steps(p, r);
    changed += flawed != p.steps;
    answer_lost += p.steps.find(p.answer) != p.steps.npos && flawed.find(p.answer) == flawed.npos;
    EXPECT_NE(flawed, "");
  }
  EXPECT_GT(changed, kTries * 8 / 10);
  EXPECT_GT(answer_lost, kTries / 8);  // errors reach the answer, not only the way to it
}

TEST(Attempts, AreLaidBetweenThePiecesOfThePrompt) {
  const AttemptOptions o{.count = 3, .tail = 60, .seed = 1};
  for (uint64_t i = 0; i < 100; ++i) {
    const gym::Problem p = gym::curriculum_problem({.seed = 5}, i);
    const Json j = Json::parse(aggregation_line(p, o, i));
    EXPECT_EQ(j.dump() + "\n", aggregation_line(p, o, i));
    const std::string asked = j.at("messages").as_array()[0].at("content").as_string();
    size_t at = 0;
    const std::vector<std::string> pieces = text::aggregation_pieces(p.question, 3);
    ASSERT_EQ(pieces.size(), 4u);
    for (size_t k = 0; k < pieces.size(); ++k) {
      const size_t found = asked.find(pieces[k], at);
      ASSERT_NE(found, asked.npos);
      if (k > 0) {
        EXPECT_LE(found - at, 60u);
      }
      at = found + pieces[k].size();
    }
    EXPECT_EQ(at, asked.size());
    EXPECT_TRUE(gym::answers(j.at("messages").as_array()[1].at("content").as_string(), p));
  }
}

TEST(Attempts, SoundOnesEndAsTheWorkingDoes) {
  const gym::Problem p = gym::curriculum_problem({.seed = 5, .kinds = {"arithmetic"}}, 3);
  int ends = 0;
  for (uint64_t i = 0; i < 40; ++i) {
    const std::string line = Json::parse(aggregation_line(p, {.count = 1, .sound = 1}, i))
                                 .at("messages")
                                 .as_array()[0]
                                 .at("content")
                                 .as_string();
    ends += line.ends_with(p.steps + "\n");
  }
  EXPECT_GT(ends, 20);  // a quarter is cut short
  EXPECT_LT(ends, 40);
}

TEST(Attempts, MistakesAreNamed) {
  EXPECT_THROW(check(AttemptOptions{.count = 0}), Error);
  EXPECT_THROW(check(AttemptOptions{.tail = 3}), Error);
  EXPECT_THROW(check(AttemptOptions{.sound = 2}), Error);
}

}  // namespace
}  // namespace quern::reason
