// Filters by grade: what they keep, and the limits that they refuse.
#include <gtest/gtest.h>

#include "quern/base/test_message.h"
#include "quern/corpus/filters/filters.h"

namespace quern::corpus {
namespace {

constexpr std::string_view kLesson =
    "Water rises through a plant against its weight. Why does it not fall back? Because its parts hold on to each "
    "other, and to the walls of very thin tubes, so that a column of it can be pulled up from above. For example, a "
    "leaf that "
    "loses water in the sun pulls the next drop after it, and that one pulls another, down to the root.";
constexpr std::string_view kIndex =
    "xcb_connect() | 12\nxcb_disconnect() | 14, 15\nXCB_NONE | 3\nxcb_flush() | 77\nxcb_get_setup() | "
    "81\nxcb_window_t | 92";

bool kept(const std::string& name, std::string_view text) { return find_filter(name, "")()->apply(text).keep(); }

TEST(GradeFilters, KeepWhatIsAboveOrBelow) {
  EXPECT_TRUE(kept("education:1.5", kLesson));
  EXPECT_FALSE(kept("education:1.5", kIndex));
  EXPECT_TRUE(kept("reading-level:4", kLesson));
  EXPECT_FALSE(kept("reading-level:1", kIndex));
}

TEST(GradeFilters, RefuseLimitsBeyondTheScale) {
  const auto refused = [](const std::string& name) { return message_of([&] { find_filter(name, ""); }); };
  EXPECT_NE(refused("education:7").find("'7': expected a number from 0 to"), std::string::npos);
  EXPECT_NE(refused("education:x").find("'x': expected a number"), std::string::npos);
  EXPECT_NE(refused("reading-level:0").find("expected a number from 1 to"), std::string::npos);
  EXPECT_NE(refused("grader:missing.json:2").find("missing.json"), std::string::npos);
}

}  // namespace
}  // namespace quern::corpus
