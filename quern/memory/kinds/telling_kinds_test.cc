// The tables of kinds: what they make of plain tellings, their features, and damaged files.
#include "quern/memory/kinds/telling_kinds.h"

#include <gtest/gtest.h>

#include "quern/base/error.h"

namespace quern::memory {
namespace {

std::string best(const TellingKinds& kinds, const char* text) {
  const TellingKinds::Scores scores = kinds.scores(text);
  size_t at = 0;
  for (size_t c = 0; c < kinds.names().size(); ++c)
    if (kinds.names()[c] != "statement" && kinds.names()[c] != "ended" && scores[c] > scores[at]) at = c;
  return kinds.names()[at];
}

// None of these is among the tellings.
TEST(TellingKinds, OfFacts) {
  const TellingKinds& kinds = TellingKinds::of_facts();
  EXPECT_EQ(best(kinds, "Our landlord painted the flat before we moved in."), "home");
  EXPECT_EQ(best(kinds, "The vegan dinner had no dairy and no gluten."), "diet");
  EXPECT_EQ(best(kinds, "My boyfriend and I got engaged."), "partner");
  EXPECT_EQ(best(kinds, "A kitten from the shelter sleeps in the basket."), "pet");
}

TEST(TellingKinds, OfEvents) {
  const TellingKinds& kinds = TellingKinds::of_events();
  EXPECT_EQ(best(kinds, "The surgeon closed it with six stitches."), "operation");
  EXPECT_EQ(best(kinds, "The fire brigade came, flames and smoke everywhere."), "fire");
  EXPECT_EQ(kinds.names()[static_cast<size_t>(kinds.named("the car was sold"))], "carsold");
  EXPECT_EQ(kinds.named("the eclipse"), -1);
}

TEST(TellingKinds, Features) {
  const auto f = TellingKinds::features("Moved boxes, moved!");
  const std::vector<std::pair<std::string, float>> expected = {{"^ mov", 0.7f}, {"box", 1},      {"box mov", 0.7f},
                                                               {"mov", 1},      {"mov $", 0.7f}, {"mov box", 0.7f}};
  EXPECT_EQ(f, expected);
}

TEST(TellingKinds, RefuseDamagedTables) {
  EXPECT_THROW(TellingKinds::parse("words\n", "t"), Error);
  EXPECT_THROW(TellingKinds::parse("quern-telling-kinds-2\nhome\n\n0.1 1\n0\n", "t"), Error);           // cut short
  EXPECT_THROW(TellingKinds::parse("quern-telling-kinds-2\nhome\n\n0.1 1\n0\nbox A3\n", "t"), Error);   // no tab
  EXPECT_THROW(TellingKinds::parse("quern-telling-kinds-2\nhome\n\n0.1 1\n0\nbox\tB3\n", "t"), Error);  // one output
  EXPECT_THROW(TellingKinds::parse("quern-telling-kinds-2\nhome\n\n0.1 1\n0\nbox\tA300\n", "t"), Error);  // no byte
  const TellingKinds whole =
      TellingKinds::parse("quern-telling-kinds-2\nhome job\nmove\n\n0.5 1\n0.25 0\nbox\tA4B-2\n", "t");
  EXPECT_FLOAT_EQ(whole.scores("box")[0], 2.25f);
  EXPECT_FLOAT_EQ(whole.scores("box")[1], -1);
  EXPECT_EQ(whole.named("the move"), 0);
}

}  // namespace
}  // namespace quern::memory
