// Thinking and answer, however the text is cut.
#include <vector>

#include "quern/serve/chat/reasoning_split.h"

#include <gtest/gtest.h>

namespace quern::serve {
namespace {

struct Case {
  const char* text;
  bool opened;
  const char *reasoning, *content;
};

TEST(ReasoningSplit, IsTheSameHoweverTheTextIsCut) {
  const std::vector<Case> cases = {
      {"<think>\na b\n</think>\n\nAnswer: 4", false, "a b", "Answer: 4"},
      {"a b </think> c ", true, "a b", "c "},
      {"  <think>x</think>y", false, "x", "y"},
      {"  plain <think>no</think>", false, "", "  plain <think>no</think>"},
      {"<thin", false, "", "<thin"},
      {"<think>never closed </thin", false, "never closed </thin", ""},
      {"a < b </ c </think>d</think>", true, "a < b </ c", "d</think>"},
      {"\n\n</think>\n\nx\n", true, "", "x\n"},
      {"", false, "", ""},
      {"<think></think>", false, "", ""},
  };
  for (const Case& c : cases) {
    const std::string text = c.text;
    for (size_t step = 1; step <= text.size() + 1; ++step) {
      ReasoningSplit split(c.opened);
      ReasoningSplit::SplitText all;
      auto add = [&](const ReasoningSplit::SplitText& p) { all.reasoning += p.reasoning, all.content += p.content; };
      for (size_t at = 0; at < text.size(); at += step) add(split.push(std::string_view(text).substr(at, step)));
      add(split.finish());
      EXPECT_EQ(all.reasoning, c.reasoning) << text << " by " << step;
      EXPECT_EQ(all.content, c.content) << text << " by " << step;
    }
  }
}

TEST(ReasoningSplit, GivesTextAsSoonAsItIsCertain) {
  ReasoningSplit split(false);
  EXPECT_EQ(split.push("Hel").content, "Hel");
  EXPECT_EQ(split.push("lo <think>").content, "lo <think>");
  ReasoningSplit thinking(true);
  EXPECT_EQ(thinking.push("one two ").reasoning, "one two");
  EXPECT_EQ(thinking.push("three <").reasoning, " three");
  EXPECT_EQ(thinking.push("/b").reasoning, " </b");
}

}  // namespace
}  // namespace quern::serve
