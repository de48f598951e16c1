// The filter of the guide, found by its name as any other, alone and in a chain.
#include <gtest/gtest.h>

#include "quern/base/error.h"
#include "quern/base/test_message.h"
#include "quern/corpus/filters/filters.h"
#include "tests/sample/guide_blocks.h"

namespace quern::corpus {
namespace {

TEST(Capitals, RemovesWhatIsMostlyCapitals) {
  const auto f = find_filter("capitals")();
  EXPECT_FALSE(f->apply("BUY NOW, it is CHEAP").keep());
  EXPECT_TRUE(f->apply("The NATO summit ended on Tuesday.").keep());
  EXPECT_TRUE(f->apply("1234").keep());
  EXPECT_TRUE(f->apply("ABcd").keep());  // half is not more than half
}

TEST(Capitals, TakesItsShare) {
  EXPECT_FALSE(find_filter("capitals:0.2")()->apply("The NATO summit").keep());
  EXPECT_TRUE(find_filter("capitals:0.5")()->apply("The NATO summit").keep());
  EXPECT_NE(message_of([] { find_filter("capitals:much"); }).find("expected a number"), std::string::npos);
}

TEST(Capitals, StandsInAChainAndInSuggestions) {
  const auto f = find_filter("pii+capitals")();
  ASSERT_EQ(f->rules().size(), 1u);
  const FilterResult r = f->apply("WRITE TO me@example.org OR CALL");
  EXPECT_EQ(r.failing, 1u);
  EXPECT_EQ(r.text, "WRITE TO <EMAIL> OR CALL");
  EXPECT_NE(message_of([] { find_filter("capitols"); }).find("did you mean 'capitals'"), std::string::npos);
}

TEST(Capitals, TheGuideShowsThisCode) {
  expect_shown("docs/corpus/adding-a-filter.md", "corpus/filters/capitals", 4);
}

}  // namespace
}  // namespace quern::corpus
